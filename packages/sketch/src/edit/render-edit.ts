/** Renders an edit: with a mask, the masked area is redrawn; without one, the whole image is restyled. */
import { schemeFor } from "../abstract/schemes.ts";
import type { DrawOptions } from "../options.ts";
import { type Brief, isAbstract } from "../prompt/brief.ts";
import { seeded } from "../random.ts";
import { compositeOver } from "../raster/composite.ts";
import { finish } from "../raster/finish.ts";
import { type FilterContext, type Raster, toSharp } from "../raster/raster.ts";
import { render } from "../render.ts";
import { rasterizeScene } from "../scene/rasterize-scene.ts";
import { overlayScene, paletteOf, type SceneOptions } from "../scene/scene.ts";
import { styleFilters } from "../styles/style.ts";
import { collage } from "./collage.ts";
import type { EditInputs } from "./edit-inputs.ts";
import { applyGrade, gradeFor } from "./grade.ts";
import { compositeThroughMask, type Mask, readMask } from "./mask.ts";
import { exactPartialImages, fade } from "./partial-images.ts";
import { removeBackground } from "./remove-background.ts";
import { seamlessClone } from "./seamless-clone.ts";
import { decode } from "./uploads.ts";

export interface EditJob {
  readonly brief: Brief;
  readonly seed: string;
  /** Which of the `n` images this is. */
  readonly index: number;
  readonly options: DrawOptions;
  readonly inputs: EditInputs;
}

/** Yields `partials` partial images and returns the finished pixels. */
export async function* renderEdit(
  context: FilterContext,
  job: EditJob,
  phase: number,
  partials: number,
): AsyncGenerator<Raster, Raster> {
  const { images, mask: maskUpload, size } = job.inputs;
  if (maskUpload === undefined) {
    const rendering = restyle(context, job, await baseImage(context, job), phase);
    return yield* exactPartialImages(partials, rendering, (stage, strength) =>
      fade(context, stage, strength),
    );
  }
  const original = await decode(context.sharp, images[0], size);
  const mask = await readMask(context, maskUpload, size);
  // Partial images leave the pixels outside of the mask unchanged as well.
  return yield* exactPartialImages(
    partials,
    redrawMasked(context, job, original, mask),
    async (stage, strength) =>
      compositeThroughMask(context, original, await fade(context, stage, strength), mask),
  );
}

/** The image to restyle: the upload, or a collage of several uploads, with the markup on top. */
async function baseImage(
  context: FilterContext,
  { inputs, seed, brief }: EditJob,
): Promise<Raster> {
  const { images, markup, size } = inputs;
  let base: Raster;
  if (images.length > 1) {
    const random = seeded(`${seed}|collage`);
    const { ground } = schemeFor(
      random,
      brief.overallColors.map((color) => color.hex),
    );
    base = await collage(context, images, size, ground, random);
  } else base = await decode(context.sharp, images[0], size);
  if (markup === undefined) return base;
  return compositeOver(context, base, await decode(context.sharp, markup, size, "fill"));
}

/** Redraws the masked area: with the scene of the prompt, or with its subjects on a filled-in background. */
async function* redrawMasked(
  context: FilterContext,
  job: EditJob,
  original: Raster,
  mask: Mask,
): AsyncGenerator<Raster, Raster> {
  const { brief, options, inputs } = job;
  const transparent = options.background === "transparent";
  const masked = (drawn: Raster): Promise<Raster> =>
    compositeThroughMask(context, original, drawn, mask);
  let ground = await groundFor(context, job, original, mask);
  yield masked(ground);
  if (brief.remove) return masked(ground);
  const [, ...donors] = inputs.images;
  if (donors.length > 0) {
    const { width, height } = mask.box;
    const [onlyDonor] = donors.length === 1 ? donors : [];
    const donor = onlyDonor
      ? await decode(context.sharp, onlyDonor, { width, height })
      : await collage(context, donors, { width, height }, "#ece6da", seeded(job.seed));
    ground = await pasteIntoBox(context, ground, donor, mask);
    yield masked(ground);
    if (brief.subjects.length === 0) return masked(ground);
  }
  const hasScene =
    brief.places.length > 0 || brief.time !== undefined || brief.subjects.length === 0;
  const drawn = await render(context, {
    brief,
    width: Math.max(16, mask.box.width),
    height: Math.max(16, mask.box.height),
    seed: job.seed,
    isolated: transparent || !hasScene || donors.length > 0,
    options,
  });
  return masked(await pasteIntoBox(context, ground, drawn, mask));
}

/** "Add a dog" keeps the masked content; other edits replace it with its surroundings or with transparency. */
async function groundFor(
  context: FilterContext,
  { brief, options }: EditJob,
  original: Raster,
  mask: Mask,
): Promise<Raster> {
  if (options.background === "transparent") return blank(original);
  return brief.add ? original : seamlessClone(context, original, mask);
}

const blank = (raster: Raster): Raster => ({
  ...raster,
  pixels: new Uint8Array(raster.pixels.length),
});

/** Composites `piece`, scaled to the box of the mask, over `ground`. */
async function pasteIntoBox(
  context: FilterContext,
  ground: Raster,
  piece: Raster,
  { box }: Mask,
): Promise<Raster> {
  const fitted = await toSharp(context.sharp, piece)
    .resize(box.width, box.height, { fit: "fill" })
    .raw()
    .toBuffer();
  const layer = blank(ground);
  const rowBytes = box.width * 4;
  for (let y = 0; y < box.height; y++) {
    layer.pixels.set(
      fitted.subarray(y * rowBytes, (y + 1) * rowBytes),
      ((box.top + y) * ground.width + box.left) * 4,
    );
  }
  return compositeOver(context, ground, layer);
}

/** Restyles the whole image: first light and colors, then the overlay of subjects and weather, then the styles. */
async function* restyle(
  context: FilterContext,
  job: EditJob,
  start: Raster,
  phase: number,
): AsyncGenerator<Raster, Raster> {
  const { brief, options, seed, index } = job;
  const { width, height } = start;
  const transparent = options.background === "transparent";
  const scene: SceneOptions = {
    // Weather alone does not change the time of day of an image.
    brief: { ...brief, time: brief.time ?? "day" },
    width,
    height,
    detail: options.detail,
    random: seeded(seed),
    phase,
    isolated: true,
  };
  let raster = start;
  if (transparent) raster = await removeBackground(context, raster);
  else if (hasHoles(raster)) raster = await addBackground(context, job, raster);
  yield raster;
  const grade = gradeFor(
    brief,
    paletteOf(scene),
    options.fidelity === "high",
    seeded(`${seed}|scheme`),
    index,
  );
  if (grade !== undefined) raster = await applyGrade(context, raster, grade);
  const overlay = overlayScene(scene);
  if (overlay.layers.length > 0 && !isAbstract(brief)) {
    yield raster;
    const drawn = await rasterizeScene(context.sharp, overlay, width, height);
    raster = await compositeOver(context, raster, drawn);
  }
  if (brief.styles.length > 0) yield raster;
  const unstyled = raster;
  for (const style of brief.styles) raster = await styleFilters[style](context, raster);
  if (transparent) raster = withAlphaOf(raster, unstyled);
  return finish(context, raster, {
    saturation: options.saturation,
    grain: 0,
    vignette: 0,
    bloom: options.detail > 1.3 ? 0.15 : 0,
  });
}

function withAlphaOf(raster: Raster, source: Raster): Raster {
  const pixels = new Uint8Array(raster.pixels);
  for (let i = 3; i < pixels.length; i += 4) pixels[i] = source.pixels[i] ?? 255;
  return { ...raster, pixels };
}

/** True if more than 2 % of the pixels are mostly transparent. */
function hasHoles({ pixels }: Raster): boolean {
  let holes = 0;
  for (let i = 3; i < pixels.length; i += 4) if ((pixels[i] ?? 255) < 128) holes += 1;
  return holes > pixels.length / 4 / 50;
}

/** Puts the scene of the prompt behind an image with holes, or a plain color where the result must be opaque. */
async function addBackground(
  context: FilterContext,
  job: EditJob,
  raster: Raster,
): Promise<Raster> {
  const { brief, options, seed } = job;
  const { width, height } = raster;
  const hasScene =
    brief.places.length > 0 ||
    brief.time !== undefined ||
    brief.sky.size > 0 ||
    brief.skyColor !== undefined;
  if (hasScene) {
    const empty: Brief = { ...brief, subjects: [], styles: [], weather: [] };
    const spec = { brief: empty, width, height, seed, isolated: false, options };
    return compositeOver(context, await render(context, spec), raster);
  }
  if (options.background === "auto" && options.format !== "jpeg") return raster;
  const pixels = await toSharp(context.sharp, raster)
    .flatten({ background: brief.overallColors[0]?.hex ?? "#ffffff" })
    .ensureAlpha()
    .raw()
    .toBuffer();
  return { width, height, pixels };
}
