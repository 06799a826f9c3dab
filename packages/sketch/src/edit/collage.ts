/** A collage of several images on a background in the colors of the prompt. */
import { mix, tone } from "../color.ts";
import type { Size } from "../options.ts";
import type { Random } from "../random.ts";
import { type FilterContext, type Raster, rasterize, toSharp } from "../raster/raster.ts";
import { circle, el, num, rect } from "../svg.ts";
import { decode, type Upload } from "./uploads.ts";

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export async function collage(
  context: FilterContext,
  uploads: readonly Upload[],
  size: Size,
  ground: string,
  random: Random,
): Promise<Raster> {
  const { width, height } = size;
  const gap = Math.max(2, Math.round(Math.min(width, height) * 0.022));
  const frames = layout(
    uploads.length,
    { left: gap, top: gap, width: width - gap * 2, height: height - gap * 2 },
    gap,
  );
  const round = Math.round(gap * 0.9);
  const pieces: {
    input: Buffer;
    raw: { width: number; height: number; channels: 4 };
    left: number;
    top: number;
  }[] = [];
  for (let i = 0; i < frames.length; i++) {
    const [frame, upload] = [frames[i], uploads[i]];
    if (frame === undefined || upload === undefined) continue;
    const piece = await decode(context.sharp, upload, frame);
    const corner = Buffer.from(
      el(
        "svg",
        { xmlns: "http://www.w3.org/2000/svg", width: frame.width, height: frame.height },
        rect(0, 0, frame.width, frame.height, "#ffffff", { rx: round }),
      ),
    );
    const input = await toSharp(context.sharp, piece)
      .composite([{ input: corner, blend: "dest-in" }])
      .raw()
      .toBuffer();
    pieces.push({
      input,
      raw: { width: frame.width, height: frame.height, channels: 4 },
      left: frame.left,
      top: frame.top,
    });
    await context.checkpoint();
  }
  const background = await rasterize(
    context.sharp,
    backgroundSvg(size, frames, gap, ground, random),
    width,
    height,
  );
  return {
    width,
    height,
    pixels: await toSharp(context.sharp, background).composite(pieces).raw().toBuffer(),
  };
}

/** Two images side by side; up to five as a large one and a row; more as a grid. */
function layout(count: number, area: Box, gap: number): Box[] {
  if (count <= 1) return [area];
  const wide = area.width >= area.height;
  if (count <= 5) {
    const share = count === 2 ? 0.5 : 0.64;
    const main = wide
      ? { ...area, width: Math.round((area.width - gap) * share) }
      : { ...area, height: Math.round((area.height - gap) * share) };
    const rest = wide
      ? { ...area, left: area.left + main.width + gap, width: area.width - main.width - gap }
      : { ...area, top: area.top + main.height + gap, height: area.height - main.height - gap };
    return [main, ...row(count - 1, rest, gap, !wide)];
  }
  const columns = Math.ceil(Math.sqrt((count * area.width) / area.height));
  const rows = Math.ceil(count / columns);
  return row(rows, area, gap, false).flatMap((line, r) =>
    row(Math.min(columns, count - r * columns), line, gap, true),
  );
}

function row(count: number, area: Box, gap: number, across: boolean): Box[] {
  const room = ((across ? area.width : area.height) - gap * (count - 1)) / count;
  return Array.from({ length: count }, (_, i) => {
    const offset = Math.round(i * (room + gap));
    const end = Math.round(i * (room + gap) + room);
    const extent = Math.max(1, end - offset);
    return across
      ? { ...area, left: area.left + offset, width: extent }
      : { ...area, top: area.top + offset, height: extent };
  });
}

function backgroundSvg(
  { width, height }: Size,
  frames: readonly Box[],
  gap: number,
  ground: string,
  random: Random,
): string {
  const dots = Array.from({ length: 14 }, () =>
    circle(
      random.between(0, width),
      random.between(0, height),
      random.between(0.03, 0.14) * Math.min(width, height),
      tone(ground, random.between(-0.04, 0.06)),
      { "fill-opacity": 0.6 },
    ),
  );
  const shadows = frames.flatMap((frame) =>
    [3, 2, 1].map((step) =>
      rect(
        frame.left - step,
        frame.top + gap * 0.12 * step,
        frame.width + step * 2,
        frame.height + step,
        mix(ground, "#000000", 0.7),
        { rx: gap, "fill-opacity": 0.1 },
      ),
    ),
  );
  return el(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width: num(width), height: num(height) },
    rect(0, 0, width, height, ground),
    ...dots,
    ...shadows,
  );
}
