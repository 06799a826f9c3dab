/** Renders a brief: builds the scene, rasterizes it, applies the styles of the brief and the finishing filters. */
import type { DrawOptions } from "./options.ts";
import type { Brief } from "./prompt/brief.ts";
import type { Style } from "./prompt/scene-words.ts";
import { seeded } from "./random.ts";
import { finish } from "./raster/finish.ts";
import {
  checkpointFor,
  type FilterContext,
  forEachBand,
  type Raster,
  type Sharp,
  toSharp,
} from "./raster/raster.ts";
import { rasterizeScene } from "./scene/rasterize-scene.ts";
import { buildScene, type Scene } from "./scene/scene.ts";
import type { Layer } from "./scene/stage.ts";
import { stackSheets } from "./styles/papercut.ts";
import { styleFilters } from "./styles/style.ts";

export interface ImageSpec {
  readonly brief: Brief;
  readonly width: number;
  readonly height: number;
  /** From prompt, seed and index: the only source of randomness. */
  readonly seed: string;
  /** Only the subjects, on a transparent background. */
  readonly isolated: boolean;
  readonly options: DrawOptions;
}

export const seedOf = (prompt: string, options: DrawOptions, index: number): string =>
  `${prompt.trim()}|${options.seed}|${index}`;

export const filterContext = (
  sharp: Sharp,
  seed: string,
  options: DrawOptions,
  signal: AbortSignal,
): FilterContext => ({
  sharp,
  // The label is part of the seed: another one would change every image.
  random: seeded(`${seed}|darkroom`),
  detail: options.detail,
  checkpoint: checkpointFor(signal),
});

export const sceneFor = (spec: ImageSpec, phase: number, detail = spec.options.detail): Scene =>
  buildScene({
    brief: spec.brief,
    width: spec.width,
    height: spec.height,
    detail,
    random: seeded(spec.seed),
    phase,
    isolated: spec.isolated,
  });

/** The finished image at one moment of its animation. */
export async function render(context: FilterContext, spec: ImageSpec, phase = 0): Promise<Raster> {
  const raster = await renderStyled(context, spec, sceneFor(spec, phase));
  const { isolated, options } = spec;
  const { detail, saturation } = options;
  const unstyled = spec.brief.styles.length === 0;
  const grainy = unstyled && detail > 1.3 && options.format !== "gif";
  return finish(context, raster, {
    saturation,
    grain: grainy ? Math.min(0.6, detail * 0.2) : 0,
    vignette: unstyled && !isolated && detail > 0.7 ? 0.55 : 0,
    bloom: unstyled && !isolated && detail > 1.3 ? 0.4 : 0,
  });
}

/** Rasterized and styled, but without the finishing filters. */
async function renderStyled(
  context: FilterContext,
  spec: ImageSpec,
  scene: Scene,
): Promise<Raster> {
  const { width, height, brief, isolated } = spec;
  const styles = [...brief.styles];
  let raster: Raster;
  if (styles.includes("papercut") && !isolated) {
    styles.splice(styles.indexOf("papercut"), 1);
    raster = await stackSheets(context, paperSheets(context, scene, width, height));
  } else {
    raster = await rasterizeScene(context.sharp, scene, width, height);
    await context.checkpoint();
  }
  if (isolated && styles.length > 0) return filterKeepingAlpha(context, raster, styles);
  for (const style of styles) raster = await styleFilters[style](context, raster);
  return raster;
}

/** Filters mix neighboring pixels, so they get a nearly white background; the original alpha is restored afterwards. */
async function filterKeepingAlpha(
  context: FilterContext,
  raster: Raster,
  styles: readonly Style[],
): Promise<Raster> {
  const { width, height } = raster;
  const flattened = await toSharp(context.sharp, raster)
    .flatten({ background: "#fbf8f0" })
    .ensureAlpha()
    .raw()
    .toBuffer();
  let styled: Raster = { width, height, pixels: flattened };
  for (const style of styles) styled = await styleFilters[style](context, styled);
  const out = new Uint8Array(styled.pixels);
  await forEachBand(context, width, height, (from, to) => {
    for (let i = from * width; i < to * width; i++) out[i * 4 + 3] = raster.pixels[i * 4 + 3] ?? 0;
  });
  return { width, height, pixels: out };
}

const maxSheets = 10;

/** The layers as sheets of paper. Atmospheric layers, and those beyond the maximum, join the sheet below them. */
async function* paperSheets(
  context: FilterContext,
  scene: Scene,
  width: number,
  height: number,
): AsyncGenerator<Raster, void> {
  const sheets: Layer[][] = [];
  for (const layer of scene.layers) {
    const last = sheets.at(-1);
    if (last !== undefined && (layer.atmospheric === true || sheets.length >= maxSheets)) {
      last.push(layer);
    } else sheets.push([layer]);
  }
  for (const layers of sheets) {
    yield rasterizeScene(context.sharp, scene, width, height, layers);
    await context.checkpoint();
  }
}

type PartialImageStage = "layout" | "far layers" | "unfinished";
/**
 * How a partial image is drawn: the share of the layers that it shows, and by how much it is reduced before it is
 * enlarged again.
 */
const roughStages = {
  layout: { layerShare: 0.45, reduction: 24 },
  "far layers": { layerShare: 0.75, reduction: 8 },
} as const;

/** A partial image of the image that `render` gives for the same spec. */
export async function renderPartialImage(
  context: FilterContext,
  spec: ImageSpec,
  stage: PartialImageStage,
): Promise<Raster> {
  const { width, height } = spec;
  const rough = sceneFor(spec, 0, Math.min(spec.options.detail, 0.6));
  if (stage === "unfinished") {
    return rasterizeScene(context.sharp, rough, width, height);
  }
  const { layerShare, reduction } = roughStages[stage];
  const layers = rough.layers.slice(0, Math.max(1, Math.ceil(rough.layers.length * layerShare)));
  const [w, h] = [
    Math.max(4, Math.round(width / reduction)),
    Math.max(4, Math.round(height / reduction)),
  ];
  const small = await rasterizeScene(context.sharp, rough, w, h, layers);
  const pixels = await toSharp(context.sharp, small)
    .resize(width, height, { fit: "fill", kernel: "cubic" })
    .raw()
    .toBuffer();
  return { width, height, pixels };
}

const stagesByCount: readonly (readonly PartialImageStage[])[] = [
  [],
  ["far layers"],
  ["layout", "unfinished"],
  ["layout", "far layers", "unfinished"],
];

export const partialImageStages = (partials: number): readonly PartialImageStage[] =>
  stagesByCount[partials] ?? [];
