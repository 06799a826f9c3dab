/** The image worker reads exactly the file of its request, without a copy. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  UnprocessableImageError,
  withImageInput,
} from "../../server/workers/image/child/image-input.ts";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
import type { SentImage } from "../../server/workers/image/messages.ts";
import {
  expectError,
  generated,
  never,
  speckled,
  speckledPng,
  upload,
} from "./image-worker-fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "image-input-"));
const imageWorker = createImageWorker();
afterAll(async () => {
  await imageWorker.close();
  rmSync(folder, { recursive: true });
});

function written(name: string, bytes: Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

const onLinux = process.platform === "linux";
const raw = (path: string, from: number, length: number): SentImage => ({
  kind: "file",
  range: { path, from, length },
  encoding: "raw",
});

const contentOf = (input: Buffer | string): string =>
  (typeof input === "string" ? readFileSync(input) : input).toString("latin1");

test("a file that is replaced while it is processed is still read to its end", async () => {
  if (!onLinux) return;
  const path = written("one", "the first");
  const found = await withImageInput(raw(path, 0, 9), async ({ input }) => {
    expect(typeof input).toBe("string");
    renameSync(written("another", "something else"), path);
    return contentOf(input);
  });
  expect(found).toBe("the first");
});

test("only the image is read from a file that contains more", async () => {
  const path = written("more", "before the picture after");
  for (const [from, length] of [
    [0, 6],
    [7, 11],
    [19, 5],
  ] as const) {
    const found = await withImageInput(raw(path, from, length), async ({ input, peek }) => {
      expect(input).toBeInstanceOf(Buffer);
      return [contentOf(input), peek(0, 100).toString("latin1")];
    });
    const expected = "before the picture after".slice(from, from + length);
    expect(found).toEqual([expected, expected]);
  }
});

test("a file that is shorter than declared is rejected", async () => {
  const png = await speckledPng(64, 64);
  const path = written("short.png", png.subarray(0, png.length - 1));
  const held = withImageInput(raw(path, 0, png.length), async () => undefined);
  await expect(held).rejects.toBeInstanceOf(UnprocessableImageError);
  const keepOpen = () => () => undefined;
  const inspection = imageWorker.inspect({ ...upload(png), path, keepOpen }, never);
  await expectError(inspection, "invalid_image_file", /shorter than its declared length/);
});

test("peek returns the requested bytes at any offset, and fewer at the end", async () => {
  const bytes = Buffer.from(speckled(100, 1000, 1));
  const path = written("bytes", bytes);
  await withImageInput(raw(path, 0, bytes.length), async ({ length, peek }) => {
    expect(length).toBe(bytes.length);
    for (const [from, expected] of [
      [0, 50_000],
      [8, 8],
      [16_380, 8],
      [99_990, 8],
      [99_996, 8],
      [3, 70_000],
      [60_000, 70_000],
      [100_000, 8],
      [1, 1],
    ] as const) {
      expect(peek(from, expected).equals(bytes.subarray(from, from + expected))).toBeTrue();
    }
  });
});

test("no decoder but those of PNG, JPEG, WebP, GIF and AVIF opens a file, whatever it claims to be", async () => {
  const image = () => generated(speckled(8, 8, 3), 8, 8, 3);
  const svg = "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'/>";
  const shut = [
    written("svg.png", svg),
    written("drawing.svg", svg),
    written("tiff.png", await image().tiff().toBuffer()),
    written("scan.tiff", await image().tiff().toBuffer()),
    written("map.ppm", "P3 1 1 255 1 2 3"),
    written("table.csv", "1,2\n3,4\n"),
  ];
  await image().toFile(join(folder, "own.v"));
  shut.push(join(folder, "own.v"));
  const open = [
    written("a.png", await image().png().toBuffer()),
    written("a.jpeg", await image().jpeg().toBuffer()),
    written("a.webp", await image().webp().toBuffer()),
    written("a.gif", await image().gif().toBuffer()),
    written("a.avif", await image().avif({ effort: 0 }).toBuffer()),
    written("png.svg", await image().png().toBuffer()),
  ];
  // In a process of its own: blocked loaders stay blocked for the whole process.
  const library = join(import.meta.dir, "../../server/workers/image/child");
  const script = `
    import sharp from "sharp";
    import { restrictLoaders } from ${JSON.stringify(join(library, "open-image.ts"))};
    restrictLoaders(sharp);
    const opens = (path) => sharp(path).raw().toBuffer().then(() => true, () => false);
    const paths = ${JSON.stringify([...shut, ...open])};
    console.log(JSON.stringify(await Promise.all(paths.map(opens))));
  `;
  const child = Bun.spawnSync([process.execPath, "--no-install", "-e", script], {
    cwd: import.meta.dir,
  });
  expect(JSON.parse(child.stdout.toString())).toEqual([
    ...shut.map(() => false),
    ...open.map(() => true),
  ]);
});
