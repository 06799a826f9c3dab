/** A brief becomes pixels: the scene is drawn, rasterised, put through its styles and finished. */
import type { Signal } from "../../../std/signal.ts";
import { finish } from "./finish.ts";
import type { Wish } from "./options.ts";
import { seeded } from "./random.ts";
import {
  clampByte,
  type Darkroom,
  inBands,
  open,
  paceFor,
  type Raster,
  rasterise,
  type Sharp,
} from "./raster.ts";
import { type Scene, scene, svgOf } from "./scene.ts";
import type { Layer } from "./stage.ts";
import { stacked } from "./styles/papercut.ts";
import { styleFilters } from "./styles/style.ts";
import type { Brief } from "./words/brief.ts";

export interface Picture {
  readonly brief: Brief;
  readonly width: number;
  readonly height: number;
  /** Prompt, seed and index: all that chance depends on. */
  readonly seed: string;
  readonly bare: boolean;
  readonly wish: Wish;
}

export const seedOf = (prompt: string, wish: Wish, index: number): string =>
  `${prompt.trim()}|${wish.seed}|${index}`;

export const darkroom = (sharp: Sharp, seed: string, wish: Wish, signal: Signal): Darkroom => ({
  sharp,
  random: seeded(`${seed}|darkroom`),
  detail: wish.detail,
  pace: paceFor(signal),
});

export const sceneOf = (picture: Picture, phase: number, detail = picture.wish.detail): Scene =>
  scene({
    brief: picture.brief,
    width: picture.width,
    height: picture.height,
    detail,
    random: seeded(picture.seed),
    phase,
    bare: picture.bare,
  });

/** The finished picture at one moment of its animation. */
export async function draw(room: Darkroom, picture: Picture, phase = 0): Promise<Raster> {
  const drawing = sceneOf(picture, phase);
  const raster = await painted(room, picture, drawing);
  const plain = picture.brief.styles.length === 0;
  const { wish } = picture;
  return finish(room, raster, {
    saturation: wish.saturation,
    grain:
      plain && wish.detail > 1.3 && wish.format !== "gif" ? Math.min(0.6, wish.detail * 0.2) : 0,
    rim: plain && !picture.bare && wish.detail > 0.7 ? 0.55 : 0,
    glow: plain && !picture.bare && wish.detail > 1.3 ? 0.4 : 0,
  });
}

/** Drawn and styled, but not yet finished. */
async function painted(room: Darkroom, picture: Picture, drawing: Scene): Promise<Raster> {
  const { width, height, brief, bare } = picture;
  const styles = [...brief.styles];
  let raster: Raster;
  if (styles.includes("papercut") && !bare) {
    styles.splice(styles.indexOf("papercut"), 1);
    raster = await stacked(room, sheetsOf(room, drawing, width, height));
  } else {
    raster = await rasterise(room.sharp, svgOf(drawing, width, height), width, height);
    await room.pace();
  }
  if (bare && styles.length > 0) return keepingShape(room, raster, styles);
  for (const style of styles) raster = await styleFilters[style](room, raster);
  return raster;
}

/** Filters mix neighbours, so empty ground is made white for them; the shape itself stays what it was. */
async function keepingShape(
  room: Darkroom,
  raster: Raster,
  styles: readonly (keyof typeof styleFilters)[],
): Promise<Raster> {
  const { width, height } = raster;
  let work: Raster = {
    width,
    height,
    pixels: await open(room.sharp, raster)
      .flatten({ background: "#fbf8f0" })
      .ensureAlpha()
      .raw()
      .toBuffer(),
  };
  for (const style of styles) work = await styleFilters[style](room, work);
  const out = new Uint8Array(work.pixels);
  await inBands(room, width, height, (from, to) => {
    for (let i = from * width; i < to * width; i++) out[i * 4 + 3] = raster.pixels[i * 4 + 3] ?? 0;
  });
  return { width, height, pixels: out };
}

/** Layers as sheets of paper, neighbours joined until there are few enough to lay. */
async function* sheetsOf(
  room: Darkroom,
  drawing: Scene,
  width: number,
  height: number,
): AsyncGenerator<Raster, void> {
  const groups: Layer[][] = [];
  for (const layer of drawing.layers) {
    const last = groups.at(-1);
    if (last !== undefined && (layer.air === true || groups.length >= 10)) last.push(layer);
    else groups.push([layer]);
  }
  for (const layers of groups) {
    yield rasterise(room.sharp, svgOf(drawing, width, height, layers), width, height);
    await room.pace();
  }
}

/** An earlier stage of the same picture: 0 a blurred layout, 1 the far layers, 2 everything but the finish. */
export async function earlier(room: Darkroom, picture: Picture, stage: number): Promise<Raster> {
  const { width, height } = picture;
  const rough = sceneOf(picture, 0, Math.min(picture.wish.detail, 0.6));
  if (stage >= 2) return rasterise(room.sharp, svgOf(rough, width, height), width, height);
  const shown = rough.layers.slice(
    0,
    Math.max(1, Math.ceil(rough.layers.length * (stage === 0 ? 0.45 : 0.75))),
  );
  const factor = stage === 0 ? 24 : 8;
  const [w, h] = [
    Math.max(4, Math.round(width / factor)),
    Math.max(4, Math.round(height / factor)),
  ];
  const small = await rasterise(room.sharp, svgOf(rough, w, h, shown), w, h);
  const pixels = await open(room.sharp, small)
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .raw()
    .toBuffer();
  return { width, height, pixels };
}

/** Which stages to show when fewer than three are asked for. */
export const stagesFor = (partials: number): readonly number[] =>
  partials === 0 ? [] : partials === 1 ? [1] : partials === 2 ? [0, 2] : [0, 1, 2];

/** `top` over `ground`, both unassociated RGBA of one size. */
export async function over(room: Darkroom, ground: Raster, top: Raster): Promise<Raster> {
  const out = new Uint8Array(ground.pixels.length);
  await inBands(room, ground.width, ground.height, (from, to) => {
    for (let i = from * ground.width * 4; i < to * ground.width * 4; i += 4) {
      const a = (top.pixels[i + 3] ?? 0) / 255;
      const b = ((ground.pixels[i + 3] ?? 0) / 255) * (1 - a);
      const sum = a + b;
      for (let c = 0; c < 3; c++)
        out[i + c] =
          sum === 0
            ? 0
            : clampByte(((top.pixels[i + c] ?? 0) * a + (ground.pixels[i + c] ?? 0) * b) / sum);
      out[i + 3] = Math.round(sum * 255);
    }
  });
  return { ...ground, pixels: out };
}
