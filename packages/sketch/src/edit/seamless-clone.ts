/** Fills the masked area with a piece of the same picture whose surroundings are like its own, so that no blur is left. */
import { clampByte, type FilterContext, forEachBand, type Raster } from "../raster/raster.ts";
import type { Mask } from "./mask.ts";
import { pullPushFill } from "./pull-push.ts";

interface Shift {
  readonly dx: number;
  readonly dy: number;
}

/** Mean difference along the rim, 0..255, above which a piece of elsewhere would look out of place. */
const mostApart = 60;
/** A difference of light or shade is evened out up to this. */
const mostLack = 64;
/** About as many places of the rim are compared. */
const samples = 600;

/** Where no piece fits, what is around flows in: smooth, and never wrong. */
export async function seamlessClone(
  context: FilterContext,
  original: Raster,
  mask: Mask,
): Promise<Raster> {
  const best = bestShift(original, mask);
  if (best === undefined) return pullPushFill(context, original, mask.change);
  const { width, height, pixels } = original;
  const { dx, dy } = best;
  const rim = rimOf(mask);
  const nearby = (x: number, y: number): boolean =>
    x >= mask.box.left - rim &&
    x < mask.box.left + mask.box.width + rim &&
    y >= mask.box.top - rim &&
    y < mask.box.top + mask.box.height + rim;
  const from = (x: number, y: number): number =>
    (mirrored(y + dy, height) * width + mirrored(x + dx, width)) * 4;
  // What the piece lacks in color and light: known along the rim, and flowing in from there.
  const lack = new Uint8Array(pixels.length).fill(128);
  const unknown = new Uint8Array(width * height).fill(255);
  await forEachBand(context, width, height, (top, bottom) => {
    for (let y = top; y < bottom; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        if (!nearby(x, y) || (mask.change[i] ?? 0) > 0) continue;
        const source = from(x, y);
        let most = 0;
        for (let c = 0; c < 3; c++) {
          const off = (pixels[i * 4 + c] ?? 0) - (pixels[source + c] ?? 0);
          lack[i * 4 + c] = 128 + off / 2;
          most = Math.max(most, Math.abs(off));
        }
        // A thing that the mask cuts in two is cut: its color does not belong into the ground.
        if (most < mostLack) unknown[i] = 0;
      }
    }
  });
  const flow = await pullPushFill(context, { width, height, pixels: lack }, unknown, 0);
  const out = new Uint8Array(pixels);
  await forEachBand(context, width, height, (top, bottom) => {
    for (let y = top; y < bottom; y++) {
      for (let x = 0; x < width; x++) {
        const i = y * width + x;
        if ((mask.change[i] ?? 0) === 0) continue;
        const source = from(x, y);
        for (let c = 0; c < 3; c++)
          out[i * 4 + c] = clampByte(
            (pixels[source + c] ?? 0) + ((flow.pixels[i * 4 + c] ?? 128) - 128) * 2,
          );
        out[i * 4 + 3] = pixels[source + 3] ?? 255;
      }
    }
  });
  return { width, height, pixels: out };
}

/** What would lie outside the picture is its mirror image there: a large hole has little beside it. */
function mirrored(at: number, length: number): number {
  const inside = at < 0 ? -1 - at : at >= length ? 2 * length - 1 - at : at;
  return Math.min(length - 1, Math.max(0, inside));
}

/** From where to where the piece reaches, once it is mirrored back. Nothing where once is not enough. */
function reach(
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

const isBeside = ([from, to]: readonly [number, number], start: number, length: number): boolean =>
  to <= start || from >= start + length;

const rimOf = ({ box }: Mask): number =>
  Math.max(2, Math.round(Math.min(box.width, box.height) / 14));

/** Beside it first, as most pictures have layers that lie flat; the first of those that are alike wins. */
function bestShift({ width, height, pixels }: Raster, mask: Mask): Shift | undefined {
  const { box } = mask;
  const rim = rimOf(mask);
  const fits = ({ dx, dy }: Shift): boolean => {
    const across = reach(box.left + dx, box.width, width);
    const along = reach(box.top + dy, box.height, height);
    if (across === undefined || along === undefined) return false;
    return isBeside(across, box.left, box.width) || isBeside(along, box.top, box.height);
  };
  const places = placesOn(box, rim).filter(
    ([x, y]) => x >= 0 && y >= 0 && x < width && y < height && mask.change[y * width + x] === 0,
  );
  const apart = ({ dx, dy }: Shift): number => {
    let sum = 0;
    for (const [x, y] of places) {
      const a = (y * width + x) * 4;
      const b = (mirrored(y + dy, height) * width + mirrored(x + dx, width)) * 4;
      for (let c = 0; c < 3; c++) sum += Math.abs((pixels[a + c] ?? 0) - (pixels[b + c] ?? 0));
    }
    return sum / (places.length * 3);
  };
  let best: Shift | undefined;
  let least = mostApart;
  for (const shift of shiftsFor(box)) {
    if (!fits(shift)) continue;
    const found = apart(shift);
    if (found < least) [best, least] = [shift, found];
  }
  return best;
}

function* shiftsFor({ width, height }: Mask["box"]): Generator<Shift> {
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
    const along = Math.ceil(height * far);
    yield* [
      { dx: 0, dy: along },
      { dx: 0, dy: -along },
    ];
  }
}

/** Two lines around the box, one close to it and one at the end of the rim. */
function placesOn(box: Mask["box"], rim: number): [x: number, y: number][] {
  const step = Math.max(1, Math.round((4 * (box.width + box.height)) / samples));
  const places: [number, number][] = [];
  for (const away of [1, rim]) {
    const [left, top] = [box.left - away, box.top - away];
    const [right, bottom] = [box.left + box.width - 1 + away, box.top + box.height - 1 + away];
    for (let x = left; x <= right; x += step) places.push([x, top], [x, bottom]);
    for (let y = top; y <= bottom; y += step) places.push([left, y], [right, y]);
  }
  return places;
}
