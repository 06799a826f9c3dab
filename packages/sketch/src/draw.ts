/**
 * The drawing program: draws one request. Read this file first: a request is validated, its prompt becomes a brief, the
 * brief becomes a scene, the scene becomes pixels, and the pixels become the bytes of an image file.
 *
 * Nothing here reads a clock, and all randomness comes from the prompt and the seed.
 */
import { readEditInputs } from "./edit/edit-inputs.ts";
import { type EditJob, renderEdit } from "./edit/render-edit.ts";
import { autoSize, type DrawOptions, readOptions, type Size } from "./options.ts";
import { describe } from "./prompt/describe.ts";
import { parsePrompt } from "./prompt/parse-prompt.ts";
import { encode, isOpaque } from "./raster/encode.ts";
import { encodeGif } from "./raster/gif.ts";
import { loadSharp } from "./raster/load-sharp.ts";
import { type FilterContext, type Raster, type Sharp, toSharp } from "./raster/raster.ts";
import {
  filterContext,
  type ImageSpec,
  partialImageStages,
  render,
  renderPartialImage,
  seedOf,
} from "./render.ts";
import type { EditSources, ImageFacts, SketchEvent, SketchRequest } from "./request.ts";
import { svgFile } from "./svg-file.ts";
import { imageTokens, outputTokens, textTokens, usageOf } from "./usage.ts";

/** A validated request, whether it generates or edits. */
interface DrawJob {
  readonly options: DrawOptions;
  readonly size: Size;
  readonly textTokens: number;
  readonly imageTokens: number;
  readonly revisedPrompt: string;
  /**
   * Yields `partials` partial images and returns the finished pixels. `phase` is the moment of an animation, 0 ≤ phase
   * < 1.
   */
  render(index: number, phase: number, partials: number): AsyncGenerator<Raster, Raster>;
  /** The SVG file, where the output format is svg. */
  readonly svg?: () => string;
}

interface EncodedImage {
  readonly bytes: Uint8Array;
  readonly opaque: boolean;
}

/**
 * Throws a `SketchError` at once if an option is invalid. Uploads are read with the first event, so errors about them
 * come from the iteration. Work happens only while the caller waits for the next event: a caller can bound how many
 * requests draw at a time by queueing its calls of `next`. Once the signal is aborted, the iteration throws the
 * signal's reason.
 */
export function draw(
  request: SketchRequest,
  signal: AbortSignal,
): AsyncGenerator<SketchEvent, void> {
  return drawAll(request, readOptions(request), signal);
}

async function* drawAll(
  request: SketchRequest,
  options: DrawOptions,
  signal: AbortSignal,
): AsyncGenerator<SketchEvent, void> {
  signal.throwIfAborted();
  const sharp = await loadSharp();
  const job =
    request.edit === undefined
      ? generationJob(sharp, request.prompt, options, signal)
      : await editJob(sharp, request.prompt, request.edit, options, signal);
  for (let index = 0; index < options.n; index++) {
    signal.throwIfAborted();
    if (job.svg !== undefined) yield completed(job, index, svgImage(job.svg(), options), 0);
    else if (options.format === "gif") {
      yield completed(job, index, await animation(sharp, job, index, signal), 0);
    } else yield* still(sharp, job, index, signal);
  }
}

/** One image with its partial images. */
async function* still(
  sharp: Sharp,
  job: DrawJob,
  index: number,
  signal: AbortSignal,
): AsyncGenerator<SketchEvent, void> {
  const rendering = job.render(index, 0, job.options.partials);
  try {
    for (let partials = 0; ; partials++) {
      signal.throwIfAborted();
      const step = await rendering.next();
      const image = await encoded(sharp, job.options, step.value);
      if (step.done === true) {
        yield completed(job, index, image, partials);
        return;
      }
      yield { type: "partial", bytes: image.bytes, index: partials, ...factsOf(job, image) };
    }
  } finally {
    // A caller that stops early must not leave the renderer suspended.
    await rendering.return(undefined as never);
  }
}

async function animation(
  sharp: Sharp,
  job: DrawJob,
  index: number,
  signal: AbortSignal,
): Promise<EncodedImage> {
  const { options } = job;
  const transparent = options.background === "transparent";
  const context = filterContext(sharp, `gif|${index}`, options, signal);
  const frameAt = (frame: number): Promise<Raster> =>
    resultOf(job.render(index, frame / options.frames, 0));
  const bytes = await encodeGif(context, options.frames, options.frameMs, frameAt, transparent);
  return { bytes, opaque: !transparent };
}

async function resultOf(rendering: AsyncGenerator<Raster, Raster>): Promise<Raster> {
  for (;;) {
    const step = await rendering.next();
    if (step.done === true) return step.value;
  }
}

const svgImage = (source: string, { background }: DrawOptions): EncodedImage => ({
  bytes: new TextEncoder().encode(source),
  opaque: background !== "transparent",
});

async function encoded(sharp: Sharp, options: DrawOptions, raster: Raster): Promise<EncodedImage> {
  const { format, compression } = options;
  const opaque = format === "jpeg" || isOpaque(raster);
  const still = format === "jpeg" || format === "webp" ? format : "png";
  return { bytes: await encode(sharp, raster, still, compression, opaque), opaque };
}

function completed(
  job: DrawJob,
  index: number,
  image: EncodedImage,
  partials: number,
): SketchEvent {
  const { options, size, revisedPrompt } = job;
  const frames = options.format === "gif" ? options.frames : 1;
  const output = outputTokens(size, options.quality, frames, partials);
  // The prompt and the uploads are read once per request, so the first image carries their tokens.
  const [text, uploads] = index === 0 ? [job.textTokens, job.imageTokens] : [0, 0];
  return {
    type: "completed",
    bytes: image.bytes,
    ...factsOf(job, image),
    revised_prompt: revisedPrompt,
    usage: usageOf(text, uploads, output),
  };
}

const factsOf = ({ options, size }: DrawJob, { opaque }: EncodedImage): ImageFacts => ({
  size: `${size.width}x${size.height}`,
  quality: options.quality,
  background: opaque ? "opaque" : "transparent",
  output_format: options.format,
});

function generationJob(
  sharp: Sharp,
  prompt: string,
  options: DrawOptions,
  signal: AbortSignal,
): DrawJob {
  const brief = parsePrompt(prompt);
  const size = options.size ?? autoSize(brief);
  const specOf = (index: number): ImageSpec => ({
    brief,
    ...size,
    seed: seedOf(prompt, options, index),
    isolated: options.background === "transparent",
    options,
  });
  return {
    options,
    size,
    textTokens: textTokens(prompt),
    imageTokens: 0,
    revisedPrompt: describe(brief),
    async *render(index, phase, partials) {
      const spec = specOf(index);
      // A new context for each: partial images must not consume the random numbers of the image.
      const context = (): FilterContext => filterContext(sharp, spec.seed, options, signal);
      for (const stage of partialImageStages(partials))
        yield renderPartialImage(context(), spec, stage);
      return render(context(), spec, phase);
    },
    ...(options.format === "svg" && { svg: () => svgFile(specOf(0)) }),
  };
}

async function editJob(
  sharp: Sharp,
  prompt: string,
  sources: EditSources,
  options: DrawOptions,
  signal: AbortSignal,
): Promise<DrawJob> {
  const brief = parsePrompt(prompt);
  const inputs = await readEditInputs(sharp, sources, options);
  const { images, mask, markup } = inputs;
  const uploads = [...images, ...(mask ? [mask] : []), ...(markup ? [markup] : [])];
  return {
    options,
    size: inputs.size,
    textTokens: textTokens(prompt),
    imageTokens: uploads.reduce((sum, upload) => sum + imageTokens(upload.size), 0),
    revisedPrompt: describe(brief, mask === undefined ? "restyled" : "masked"),
    async *render(index, phase, partials) {
      const seed = seedOf(prompt, options, index);
      const context = filterContext(sharp, seed, options, signal);
      const edit: EditJob = { brief, seed, index, options, inputs };
      const done = yield* renderEdit(context, edit, phase, partials);
      return phase === 0 ? done : pulse(sharp, done, phase);
    },
  };
}

/** The animation of an edit pulses in brightness: an edit that only changes the style has nothing that moves. */
async function pulse(sharp: Sharp, raster: Raster, phase: number): Promise<Raster> {
  const brightness = 1 + 0.05 * Math.sin(phase * Math.PI * 2);
  const pixels = await toSharp(sharp, raster).modulate({ brightness }).raw().toBuffer();
  return { ...raster, pixels };
}
