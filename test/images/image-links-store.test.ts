/** Images behind links are stored completely or not at all, in bounded storage, and no longer than their links work. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { encodeBase64Stream } from "../../server/lib/json-stream.ts";
import { createRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { collectImage } from "../../server/upstream/collect-image.ts";
import { temporaryFolder } from "../harness.ts";
import { largePng, png } from "../upstream/download-fixture.ts";
import { type LinkServer, startLinkServer } from "./image-links-fixture.ts";

const small = { kind: "bytes", bytes: png } as const;
const kept = (server: LinkServer): string[] => readdirSync(join(server.folder, "images"));
const errorKindOf = (keeping: Promise<unknown>): Promise<string> =>
  keeping.then(
    () => "kept",
    (error: unknown) => (error instanceof GatewayError ? error.kind : String(error)),
  );

async function* inChunks(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

/** An image that is spilled to disk as base64, in chunks of any length. */
const asBase64 = (text: string, length = 1000) => {
  const bytes = Buffer.from(text);
  return {
    kind: "spilled",
    spilled: {
      encoding: "base64",
      length: bytes.length,
      start: bytes.subarray(0, 128),
      stream: () => inChunks(bytes, length),
      bytes: async () => bytes,
      tail: async (last: number) => bytes.subarray(-last),
    },
  } as const;
};

describe("an image is stored from any source", () => {
  const served = async (server: LinkServer, link: string): Promise<Buffer> =>
    Buffer.from(await (await server.get(link)).bytes());

  test("in memory, as bytes or as base64", async () => {
    await using server = startLinkServer();
    const base64 = largePng.toString("base64");
    const text = await server.links.store({ kind: "base64", base64 }, server.url);
    expect(largePng.equals(await served(server, text))).toBeTrue();
    expect(
      png.equals(await served(server, await server.links.store(small, server.url))),
    ).toBeTrue();
  });

  test("on disk, as bytes", async () => {
    await using server = startLinkServer();
    using folder = temporaryFolder();
    const temp = createRequestTemp(folder.path);
    const image = await collectImage(inChunks(largePng, 70_000), temp);
    expect(image.kind).toBe("spilled");
    const link = await server.links.store(image, server.url);
    await temp.clear();
    expect(largePng.equals(await served(server, link))).toBeTrue();
  });

  test("on disk, as base64, cut anywhere and with line breaks", async () => {
    await using server = startLinkServer();
    const text = largePng.toString("base64").replace(/.{76}/g, "$&\n");
    const link = await server.links.store(asBase64(text, 4097), server.url);
    expect(largePng.equals(await served(server, link))).toBeTrue();
    for (const length of [1, 2, 3, 5, 7]) {
      const cut = await server.links.store(asBase64(png.toString("base64"), length), server.url);
      expect(png.equals(await served(server, cut))).toBeTrue();
    }
    const bare = png.toString("base64url");
    expect(
      png.equals(await served(server, await server.links.store(asBase64(bare), server.url))),
    ).toBeTrue();
  });

  test("the base64 that the gateway writes is read back unchanged", async () => {
    await using server = startLinkServer();
    let text = "";
    for await (const chunk of encodeBase64Stream(inChunks(largePng, 1001)))
      text += Buffer.from(chunk);
    const link = await server.links.store(asBase64(text, 999), server.url);
    expect(largePng.equals(await served(server, link))).toBeTrue();
  });

  test("invalid base64 is refused, and no file is left behind", async () => {
    await using server = startLinkServer();
    const good = png.toString("base64");
    for (const bad of [
      `${good}AAAA`,
      `${good.slice(0, 40)}!${good.slice(41)}`,
      `${good}=`,
      "iVBORw0KGgo=A",
    ]) {
      expect(await errorKindOf(server.links.store(asBase64(bad, 10), server.url))).toBe(
        "upstream_invalid",
      );
    }
    expect(kept(server)).toEqual([]);
  });
});

describe("on disk", () => {
  test("other users can read neither images nor the signing secret of links", async () => {
    await using server = startLinkServer();
    await server.links.store(small, server.url);
    const [name = ""] = kept(server);
    const mode = (path: string): number => statSync(join(server.folder, path)).mode & 0o777;
    expect(mode(`images/${name}`)).toBe(0o600);
    expect(mode("images")).toBe(0o700);
    expect(mode("links.secret")).toBe(0o600);
    expect(readFileSync(join(server.folder, "links.secret")).length).toBe(32);
    expect(readdirSync(server.folder).sort()).toEqual(["images", "links.secret"]);
  });

  test("a damaged secret is replaced: earlier links end, and new links work", async () => {
    await using server = startLinkServer();
    const path = join(server.folder, "links.secret");
    const before = readFileSync(path);
    expect(Buffer.from(before).equals(Buffer.alloc(32))).toBeFalse();
    writeFileSync(path, "");
    server.again();
    const after = readFileSync(path);
    expect(after.length).toBe(32);
    expect(after.equals(before)).toBeFalse();
    server.again();
    expect(readFileSync(path).equals(after)).toBeTrue();
  });

  test("a truncated image is not left behind, and never served", async () => {
    await using server = startLinkServer();
    const broken = {
      ...asBase64("").spilled,
      encoding: "raw",
      start: png,
      length: 5000,
      stream: async function* () {
        yield png;
        expect(kept(server)).toEqual([expect.stringMatching(/\.draft$/)]);
        throw new Error("the disk is gone");
      },
    } as const;
    const keeping = server.links.store({ kind: "spilled", spilled: broken }, server.url);
    expect(await errorKindOf(keeping)).toBe("storage_unavailable");
    expect(kept(server)).toEqual([]);
  });

  test("a folder that cannot be written to has its own error kind", async () => {
    await using server = startLinkServer();
    const folder = join(server.folder, "images");
    // Root may write anywhere, so the folder is removed.
    rmSync(folder, { recursive: true });
    expect(await errorKindOf(server.links.store(small, server.url))).toBe("storage_unavailable");
  });
});

describe("storage space", () => {
  test("is bounded, and released when images expire", async () => {
    await using server = startLinkServer({ maxBytes: png.length * 2, ttlMs: 60_000 });
    await server.links.store(small, server.url);
    await server.links.store(small, server.url);
    expect(await errorKindOf(server.links.store(small, server.url))).toBe("storage_unavailable");
    // Longer than the link, because an image may still be in transmission.
    server.now += 121_000;
    expect(await errorKindOf(server.links.store(small, server.url))).toBe("kept");
    expect(kept(server).length).toBe(1);
  });

  test("that is used up is not scanned for each new image, and expired images are deleted without a scan", async () => {
    const files = 4000;
    await using server = startLinkServer({ maxBytes: files * png.length, ttlMs: 60_000 });
    for (let at = 0; at < files; at++) {
      const path = join(server.folder, "images", `${String(at).padStart(32, "0")}.png`);
      writeFileSync(path, png);
      const expires = (server.now + 60_000 + at * 1000) / 1000;
      utimesSync(path, expires, expires);
    }
    const links = server.again();
    const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
      const began = performance.now();
      await work();
      return performance.now() - began;
    };
    const scanMs = await timeOf(() => links.sweep());
    const keepMany = async (kind: string, stepMs: number): Promise<void> => {
      for (let times = 0; times < 60; times++) {
        server.now += stepMs;
        expect(await errorKindOf(links.store(small, server.url))).toBe(kind);
      }
    };
    // Once for each of them, it would be sixty times as long as one scan.
    expect(await timeOf(() => keepMany("storage_unavailable", 0))).toBeLessThan(scanMs * 10);
    server.now += 120_000 - 1000;
    expect(await timeOf(() => keepMany("kept", 1000))).toBeLessThan(scanMs * 10);
    expect(kept(server).length).toBe(files);
  });

  test("is released if an image could not be stored", async () => {
    await using server = startLinkServer({ maxBytes: 200 });
    for (let times = 0; times < 5; times++) {
      expect(await errorKindOf(server.links.store(asBase64("iVBORw0KGgo=!"), server.url))).toBe(
        "upstream_invalid",
      );
    }
    expect(await errorKindOf(server.links.store(small, server.url))).toBe("kept");
  });

  test("is counted again at the next start", async () => {
    await using server = startLinkServer({ maxBytes: png.length * 2 });
    await server.links.store(small, server.url);
    await server.links.store(small, server.url);
    const again = server.again();
    await again.sweep();
    expect(await errorKindOf(again.store(small, server.url))).toBe("storage_unavailable");
  });

  test("is freed of temp files of an ended process, and of no others", async () => {
    await using server = startLinkServer();
    const draft = (name: string, hoursAgo: number): void => {
      const path = join(server.folder, "images", name);
      writeFileSync(path, "half");
      const at = server.now / 1000 - hoursAgo * 3600;
      utimesSync(path, at, at);
    };
    draft("old.png.draft", 2);
    draft("new.png.draft", 0);
    await server.links.sweep();
    expect(kept(server)).toEqual(["new.png.draft"]);
  });
});
