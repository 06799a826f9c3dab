/**
 * Seamless cloning: fills the masked area with a patch of the same image whose border matches, so that texture stays
 * sharp.
 */
import { clampByte, type FilterContext, forEachBand, type Raster } from "../raster/raster.ts";
import type { Mask } from "./mask.ts";
import { pullPushFill } from "./pull-push.ts";

interface Offset {
  readonly dx: number;
  readonly dy: number;
}

/** The mean difference along the border, 0..255, above which a patch would look wrong. */
const maxDifference = 60;
/** Differences at the border below this are corrected as changes of light. */
const maxCorrection = 64;
/** About how many border pixels are compared. */
const borderSamples = 600;

/** Where no patch matches, a smooth fill from the surroundings is used instead. */
export async function seamlessClone(
  context: FilterContext,
  original: Raster,
  mask: Mask,
): Promise<Raster> {
  const best = bestOffset(original, mask);
  if (best === undefined) return pullPushFill(context, original, mask.change);
  const { width, height, pixels } = original;
  const { dx, dy } = best;
  const border = borderWidth(mask);
  const isNearMask = (x: number, y: number): boolean =>
    x >= mask.box.left - border &&
    x < mask.box.left + mask.box.width + border &&
    y >= mask.box.top - border &&
    y < mask.box.top + mask.box.height + border;
  const from = (x: number, y: number): number =>
    (mirrored(y + dy, height) * width + mirrored(x + dx, width)) * 4;
  // The color correction of the patch: measured along the border and interpolated inwards (membrane interpolation).
  const correction = new Uint8Array(pixels.length).fill(128);
  const unknown = new Uint8Array(width * height).fill(255);
  await forEachBand(context, width, height, (top, bottom) => {
    for (let y = top; y < bottom; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        if (!isNearMask(x, y) || (mask.change[i] ?? 0) > 0) continue;
        const source = from(x, y);
        let largest = 0;
        for (let c = 0; c < 3; c++) {
          const difference = (pixels[i * 4 + c] ?? 0) - (pixels[source + c] ?? 0);
          correction[i * 4 + c] = 128 + difference / 2;
          largest = Math.max(largest, Math.abs(difference));
        }
        // Large differences belong to objects that cross the border of the mask; they must not bleed into the patch.
        if (largest < maxCorrection) unknown[i] = 0;
      }
    }
  });
  const interpolated = await pullPushFill(
    context,
    { width, height, pixels: correction },
    unknown,
    0,
  );
  const out = new Uint8Array(pixels);
  await forEachBand(context, width, height, (top, bottom) => {
    for (let y = top; y < bottom; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        if ((mask.change[i] ?? 0) === 0) continue;
        const source = from(x, y);
        for (let c = 0; c < 3; c++)
          out[i * 4 + c] = clampByte(
            (pixels[source + c] ?? 0) + ((interpolated.pixels[i * 4 + c] ?? 128) - 128) * 2,
          );
        out[i * 4 + 3] = pixels[source + 3] ?? 255;
      }
    }
  });
  return { width, height, pixels: out };
}

/** Mirrors coordinates at the border of the image, because a large mask leaves little room beside it. */
function mirrored(at: number, length: number): number {
  let inside = at;
  if (at < 0) inside = -1 - at;
  else if (at >= length) inside = 2 * length - 1 - at;
  return Math.min(length - 1, Math.max(0, inside));
}

/** The range that a patch covers after mirroring. Undefined if mirroring once is not enough. */
function coveredRange(
  start: number,
  length: number,
  whole: number,
): readonly [number, number] | undefined {
  const end = start + length;
  if (start >= 0 && end <= whole) return [start, end];
  if (start < 0 && end <= whole) return -start <= whole ? [0, Math.max(-start, end)] : undefined;
  if (start < 0) return undefined;
  return 2 * whole - end >= 0 ? [Math.min(start, 2 * whole - end), whole] : undefined;
}

const isOutside = ([from, to]: readonly [number, number], start: number, length: number): boolean =>
  to <= start || from >= start + length;

const borderWidth = ({ box }: Mask): number =>
  Math.max(2, Math.round(Math.min(box.width, box.height) / 14));

/**
 * Tries horizontal offsets first, because most images have horizontal layers. The first of equally good offsets wins.
 */
function bestOffset({ width, height, pixels }: Raster, mask: Mask): Offset | undefined {
  const { box } = mask;
  const border = borderWidth(mask);
  const fits = ({ dx, dy }: Offset): boolean => {
    const across = coveredRange(box.left + dx, box.width, width);
    const down = coveredRange(box.top + dy, box.height, height);
    if (across === undefined || down === undefined) return false;
    return isOutside(across, box.left, box.width) || isOutside(down, box.top, box.height);
  };
  const points = pointsAround(box, border).filter(
    ([x, y]) => x >= 0 && y >= 0 && x < width && y < height && mask.change[y * width + x] === 0,
  );
  const differenceAt = ({ dx, dy }: Offset): number => {
    let sum = 0;
    for (const [x, y] of points) {
      const a = (y * width + x) * 4;
      const b = (mirrored(y + dy, height) * width + mirrored(x + dx, width)) * 4;
      for (let c = 0; c < 3; c++) sum += Math.abs((pixels[a + c] ?? 0) - (pixels[b + c] ?? 0));
    }
    return sum / (points.length * 3);
  };
  let best: Offset | undefined;
  let least = maxDifference;
  for (const offset of candidateOffsets(box)) {
    if (!fits(offset)) continue;
    const found = differenceAt(offset);
    if (found < least) [best, least] = [offset, found];
  }
  return best;
}

function* candidateOffsets({ width, height }: Mask["box"]): Generator<Offset> {
  const lifts = [0, 0.06, -0.06, 0.14, -0.14].map((part) => Math.round(part * height));
  for (let far = 1; far <= 4; far += 0.125) {
    const across = Math.ceil(width * far);
    for (const dy of lifts)
      yield* [
        { dx: -across, dy },
        { dx: across, dy },
      ];
  }
  for (let far = 1; far <= 3; far += 0.25) {
    const down = Math.ceil(height * far);
    yield* [
      { dx: 0, dy: down },
      { dx: 0, dy: -down },
    ];
  }
}

/** Two rectangles around the box: one next to it and one at the outer end of the border. */
function pointsAround(box: Mask["box"], border: number): [x: number, y: number][] {
  const step = Math.max(1, Math.round((4 * (box.width + box.height)) / borderSamples));
  const points: [number, number][] = [];
  for (const away of [1, border]) {
    const [left, top] = [box.left - away, box.top - away];
    const [right, bottom] = [box.left + box.width - 1 + away, box.top + box.height - 1 + away];
    for (let x = left; x <= right; x += step) points.push([x, top], [x, bottom]);
    for (let y = top; y <= bottom; y += step) points.push([left, y], [right, y]);
  }
  return points;
}
