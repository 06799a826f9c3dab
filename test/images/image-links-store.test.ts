/** Images behind links are stored completely or not at all, in bounded storage, and no longer than their links work. */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { png } from "../upstream/download-fixture.ts";
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
    // Of the CPU, because other processes do not change it.
    const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const scan = await timeOf(() => links.sweep());
    const keepMany = async (kind: string, stepMs: number): Promise<void> => {
      for (let times = 0; times < 60; times++) {
        server.now += stepMs;
        expect(await errorKindOf(links.store(small, server.url))).toBe(kind);
      }
    };
    // Once for each of them, it would be sixty times as long as one scan.
    expect(await timeOf(() => keepMany("storage_unavailable", 0))).toBeLessThan(scan * 10);
    server.now += 120_000 - 1000;
    expect(await timeOf(() => keepMany("kept", 1000))).toBeLessThan(scan * 10);
    expect(kept(server).length).toBe(files);
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
