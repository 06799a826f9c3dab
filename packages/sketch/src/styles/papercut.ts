/** The style papercut: stacked sheets, each with a soft shadow, and the texture of card. */
import { posterize } from "../raster/quantize.ts";
import {
  blurPlane,
  clampByte,
  type FilterContext,
  forEachBand,
  luminance,
  noiseTile,
  type Raster,
  unitOf,
  valueNoise,
} from "../raster/raster.ts";

/** Composites `sheet` onto `canvas` in place, with a shadow below and to the right. */
async function compositeSheet(
  context: FilterContext,
  canvas: Uint8Array,
  sheet: Raster,
  lift: number,
): Promise<void> {
  const { width, height, pixels } = sheet;
  const cover = new Uint8Array(width * height);
  await forEachBand(context, width, height, (from, to) => {
    for (let i = from * width; i < to * width; i++) cover[i] = pixels[i * 4 + 3] ?? 0;
  });
  // A quarter of the size is enough for a soft shadow.
  const [w, h] = [Math.max(1, width >> 2), Math.max(1, height >> 2)];
  const small = await context
    .sharp(cover, { raw: { width, height, channels: 1 } })
    .resize(w, h, { fit: "fill" })
    .toColorspace("b-w")
    .raw()
    .toBuffer();
  const shadow = await blurPlane(context, small, w, h, Math.max(0.5, lift / 4));
  const offset = Math.round(lift * 0.55);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        const [sx, sy] = [Math.max(0, x - offset * 0.5) >> 2, Math.max(0, y - offset) >> 2];
        const shade =
          1 - ((shadow[Math.min(h - 1, sy) * w + Math.min(w - 1, sx)] ?? 0) / 255) * 0.52;
        const a = (cover[i] ?? 0) / 255;
        for (let c = 0; c < 3; c++)
          canvas[i * 4 + c] = clampByte(
            (canvas[i * 4 + c] ?? 0) * shade * (1 - a) + (pixels[i * 4 + c] ?? 0) * a,
          );
        canvas[i * 4 + 3] = Math.max(canvas[i * 4 + 3] ?? 0, cover[i] ?? 0);
      }
    }
  });
}

async function applyCardTexture(context: FilterContext, raster: Raster): Promise<Raster> {
  const { width, height, pixels } = raster;
  const [grain, fiber] = [
    noiseTile(context.random.fork("card")),
    await valueNoise(context, width, height, 4 * unitOf(raster) + 1.4),
  ];
  const out = new Uint8Array(pixels.length);
  await forEachBand(context, width, height, (from, to) => {
    for (let y = from; y < to; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        const tooth =
          ((grain[((y & 255) << 8) | (x & 255)] ?? 128) - 128) * 0.07 +
          ((fiber[i] ?? 128) - 128) * 0.05;
        for (let c = 0; c < 3; c++) out[i * 4 + c] = clampByte((pixels[i * 4 + c] ?? 0) + tooth);
        out[i * 4 + 3] = pixels[i * 4 + 3] ?? 255;
      }
    }
  });
  return { width, height, pixels: out };
}

/**
 * Stacks sheets from the bottom up. The first one is opaque. Each is rendered when it is needed and released
 * afterwards.
 */
export async function stackSheets(
  context: FilterContext,
  sheets: AsyncIterable<Raster>,
): Promise<Raster> {
  let stack: Raster | undefined;
  for await (const sheet of sheets) {
    if (stack === undefined) stack = { ...sheet, pixels: new Uint8Array(sheet.pixels) };
    else await compositeSheet(context, stack.pixels, sheet, Math.max(1.5, 22 * unitOf(sheet)));
  }
  if (stack === undefined) throw new RangeError("no sheets to stack");
  return applyCardTexture(context, stack);
}

/** An image without layers is cut into sheets by luminance. */
export async function papercut(context: FilterContext, raster: Raster): Promise<Raster> {
  return stackSheets(context, luminanceSheets(context, await posterize(context, raster, 14, 0)));
}

async function* luminanceSheets(
  context: FilterContext,
  posterized: Raster,
): AsyncGenerator<Raster, void> {
  const { width, height } = posterized;
  const levels = 6;
  yield posterized;
  for (let level = levels - 1; level > 0; level--) {
    const pixels = new Uint8Array(posterized.pixels);
    const limit = (level / levels) * 235;
    await forEachBand(context, width, height, (from, to) => {
      for (let i = from * width * 4; i < to * width * 4; i += 4) {
        if (luminance(pixels, i) > limit) pixels[i + 3] = 0;
      }
    });
    yield { width, height, pixels };
  }
}
