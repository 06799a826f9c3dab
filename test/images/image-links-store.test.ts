/** Images behind links are stored completely or not at all, in bounded storage, and no longer than their links work. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { encodeBase64Stream } from "../../server/lib/json-stream.ts";
import { createRequestTemp } from "../../server/lib/request-temp.ts";
import { collectImage } from "../../server/upstream/collect-image.ts";
import { temporaryFolder } from "../harness.ts";
import { largePng, png } from "../upstream/download-fixture.ts";
import { type LinkDesk, linkDesk } from "./image-links-fixture.ts";

const small = { kind: "bytes", bytes: png } as const;
const kept = (desk: LinkDesk): string[] => readdirSync(join(desk.folder, "images"));
const faultOf = (keeping: Promise<unknown>): Promise<string> =>
  keeping.then(
    () => "kept",
    (error: unknown) => (error instanceof GatewayError ? error.kind : String(error)),
  );

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
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
      stream: () => inPieces(bytes, length),
      bytes: async () => bytes,
      tail: async (last: number) => bytes.subarray(-last),
    },
  } as const;
};

describe("an image is stored from wherever it is", () => {
  const served = async (desk: LinkDesk, link: string): Promise<Buffer> =>
    Buffer.from(await (await desk.get(link)).bytes());

  test("in memory, as bytes or as base64", async () => {
    await using desk = linkDesk();
    const base64 = largePng.toString("base64");
    const text = await desk.links.store({ kind: "base64", base64 }, desk.url);
    expect(largePng.equals(await served(desk, text))).toBeTrue();
    expect(png.equals(await served(desk, await desk.links.store(small, desk.url)))).toBeTrue();
  });

  test("on disk, as it is", async () => {
    await using desk = linkDesk();
    using folder = temporaryFolder();
    const temp = createRequestTemp(folder.path);
    const picture = await collectImage(inPieces(largePng, 70_000), temp);
    expect(picture.kind).toBe("spilled");
    const link = await desk.links.store(picture, desk.url);
    await temp.clear();
    expect(largePng.equals(await served(desk, link))).toBeTrue();
  });

  test("on disk, as base64, cut anywhere and with line breaks", async () => {
    await using desk = linkDesk();
    const text = largePng.toString("base64").replace(/.{76}/g, "$&\n");
    const link = await desk.links.store(asBase64(text, 4097), desk.url);
    expect(largePng.equals(await served(desk, link))).toBeTrue();
    for (const length of [1, 2, 3, 5, 7]) {
      const cut = await desk.links.store(asBase64(png.toString("base64"), length), desk.url);
      expect(png.equals(await served(desk, cut))).toBeTrue();
    }
    const bare = png.toString("base64url");
    expect(
      png.equals(await served(desk, await desk.links.store(asBase64(bare), desk.url))),
    ).toBeTrue();
  });

  test("and what the gateway itself writes as base64 is read back the same", async () => {
    await using desk = linkDesk();
    let text = "";
    for await (const piece of encodeBase64Stream(inPieces(largePng, 1001)))
      text += Buffer.from(piece);
    const link = await desk.links.store(asBase64(text, 999), desk.url);
    expect(largePng.equals(await served(desk, link))).toBeTrue();
  });

  test("but not if it is not base64, and then nothing stays behind", async () => {
    await using desk = linkDesk();
    const good = png.toString("base64");
    for (const bad of [
      `${good}AAAA`,
      `${good.slice(0, 40)}!${good.slice(41)}`,
      `${good}=`,
      "iVBORw0KGgo=A",
    ]) {
      expect(await faultOf(desk.links.store(asBase64(bad, 10), desk.url))).toBe("upstream_invalid");
    }
    expect(kept(desk)).toEqual([]);
  });
});

describe("on disk", () => {
  test("other users can read neither images nor the signing secret of links", async () => {
    await using desk = linkDesk();
    await desk.links.store(small, desk.url);
    const [name = ""] = kept(desk);
    const mode = (path: string): number => statSync(join(desk.folder, path)).mode & 0o777;
    expect(mode(`images/${name}`)).toBe(0o600);
    expect(mode("images")).toBe(0o700);
    expect(mode("links.secret")).toBe(0o600);
    expect(readFileSync(join(desk.folder, "links.secret")).length).toBe(32);
    expect(readdirSync(desk.folder).sort()).toEqual(["images", "links.secret"]);
  });

  test("a secret that was damaged is replaced: links from before end, new ones work", async () => {
    await using desk = linkDesk();
    const path = join(desk.folder, "links.secret");
    const before = readFileSync(path);
    expect(Buffer.from(before).equals(Buffer.alloc(32))).toBeFalse();
    writeFileSync(path, "");
    desk.again();
    const after = readFileSync(path);
    expect(after.length).toBe(32);
    expect(after.equals(before)).toBeFalse();
    desk.again();
    expect(readFileSync(path).equals(after)).toBeTrue();
  });

  test("a truncated image is not left behind, and never served", async () => {
    await using desk = linkDesk();
    const broken = {
      ...asBase64("").spilled,
      encoding: "raw",
      start: png,
      length: 5000,
      stream: async function* () {
        yield png;
        expect(kept(desk)).toEqual([expect.stringMatching(/\.draft$/)]);
        throw new Error("the disk is gone");
      },
    } as const;
    const keeping = desk.links.store({ kind: "spilled", spilled: broken }, desk.url);
    expect(await faultOf(keeping)).toBe("storage_unavailable");
    expect(kept(desk)).toEqual([]);
  });

  test("a folder that cannot be written to has an error code of its own", async () => {
    await using desk = linkDesk();
    const folder = join(desk.folder, "images");
    // Root may write anywhere, so it is taken away.
    rmSync(folder, { recursive: true });
    expect(await faultOf(desk.links.store(small, desk.url))).toBe("storage_unavailable");
  });
});

describe("room", () => {
  test("is bounded, and released when images expire", async () => {
    await using desk = linkDesk({ maxBytes: png.length * 2, ttlMs: 60_000 });
    await desk.links.store(small, desk.url);
    await desk.links.store(small, desk.url);
    expect(await faultOf(desk.links.store(small, desk.url))).toBe("storage_unavailable");
    // Longer than the link, as a picture may be on its way out.
    desk.now += 121_000;
    expect(await faultOf(desk.links.store(small, desk.url))).toBe("kept");
    expect(kept(desk).length).toBe(1);
  });

  test("that is full costs a new image no look at the files that are there, and one deletion each where they expire", async () => {
    const files = 4000;
    await using desk = linkDesk({ maxBytes: files * png.length, ttlMs: 60_000 });
    for (let at = 0; at < files; at++) {
      const path = join(desk.folder, "images", `${String(at).padStart(32, "0")}.png`);
      writeFileSync(path, png);
      const expires = (desk.now + 60_000 + at * 1000) / 1000;
      utimesSync(path, expires, expires);
    }
    const links = desk.again();
    const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
      const began = performance.now();
      await work();
      return performance.now() - began;
    };
    const scanMs = await timeOf(() => links.sweep());
    const keepMany = async (fault: string, stepMs: number): Promise<void> => {
      for (let times = 0; times < 60; times++) {
        desk.now += stepMs;
        expect(await faultOf(links.store(small, desk.url))).toBe(fault);
      }
    };
    // Once for each of them, it would be sixty times as long as one scan.
    expect(await timeOf(() => keepMany("storage_unavailable", 0))).toBeLessThan(scanMs * 10);
    desk.now += 120_000 - 1000;
    expect(await timeOf(() => keepMany("kept", 1000))).toBeLessThan(scanMs * 10);
    expect(kept(desk).length).toBe(files);
  });

  test("is released by an image that could not be stored", async () => {
    await using desk = linkDesk({ maxBytes: 200 });
    for (let times = 0; times < 5; times++) {
      expect(await faultOf(desk.links.store(asBase64("iVBORw0KGgo=!"), desk.url))).toBe(
        "upstream_invalid",
      );
    }
    expect(await faultOf(desk.links.store(small, desk.url))).toBe("kept");
  });

  test("is counted again after a start", async () => {
    await using desk = linkDesk({ maxBytes: png.length * 2 });
    await desk.links.store(small, desk.url);
    await desk.links.store(small, desk.url);
    const again = desk.again();
    await again.sweep();
    expect(await faultOf(again.store(small, desk.url))).toBe("storage_unavailable");
  });

  test("temp files of a process that has ended are deleted, others are not", async () => {
    await using desk = linkDesk();
    const draft = (name: string, hoursAgo: number): void => {
      const path = join(desk.folder, "images", name);
      writeFileSync(path, "half");
      const at = desk.now / 1000 - hoursAgo * 3600;
      utimesSync(path, at, at);
    };
    draft("old.png.draft", 2);
    draft("new.png.draft", 0);
    await desk.links.sweep();
    expect(kept(desk)).toEqual(["new.png.draft"]);
  });
});
