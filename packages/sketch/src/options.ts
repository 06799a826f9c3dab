/**
 * Validates the options of a request: refuses invalid values by parameter name, and replaces the quality `auto`. The
 * size and the background may stay `auto`.
 */
import type { Brief } from "./prompt/brief.ts";
import type { SketchOptions, SketchRequest } from "./request.ts";
import { SketchError } from "./sketch-error.ts";

const formats = ["png", "jpeg", "webp", "gif", "svg"] as const;
export type Format = (typeof formats)[number];
const qualities = ["low", "medium", "high", "xhigh", "max"] as const;
export type Quality = (typeof qualities)[number];
const backgrounds = ["auto", "transparent", "opaque"] as const;

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface DrawOptions {
  readonly n: number;
  /** The default is `auto`. */
  readonly size?: Size;
  readonly quality: Quality;
  /** Scales the number of shapes: 0.5 is rough, 3 is fine. */
  readonly detail: number;
  readonly background: (typeof backgrounds)[number];
  readonly format: Format;
  /** The quality setting of the JPEG or WebP encoder. */
  readonly compression: number;
  readonly frames: number;
  readonly frameMs: number;
  readonly partials: number;
  /** A factor; 1 leaves the colors as they are drawn. */
  readonly saturation: number;
  readonly fidelity: "high" | "low";
  readonly seed: number;
}

const imageLimits = { edge: [16, 4096], pixels: 8_294_400, prompt: 32_000 } as const;
const detailOf: Record<Quality, number> = { low: 0.55, medium: 1, high: 1.6, xhigh: 2.2, max: 3 };
const complexityFactor = { low: 0.8, medium: 1, high: 1.15 } as const;
const saturationOf = { vivid: 1.22, natural: 0.78 } as const;

const invalid = (param: string, message: string): SketchError =>
  new SketchError("invalid_value", message, { param });

export function readOptions({ prompt, options = {}, edit, stream }: SketchRequest): DrawOptions {
  if (prompt.length > imageLimits.prompt) {
    throw new SketchError(
      "prompt_too_long",
      `Prompt must be length ${imageLimits.prompt} or less. Your prompt length is ${prompt.length}. Please reduce your prompt length.`,
      { param: "prompt" },
    );
  }
  const isStream = stream === true;
  const format = oneOf("output_format", options.output_format, formats, "png");
  const quality = readQuality(options.quality);
  const background = oneOf("background", options.background, backgrounds, "auto");
  const saturation = readSaturation(options.style);
  const complexity = oneOf("complexity", options.complexity, ["low", "medium", "high"], "medium");
  // These two options have no effect; their values are validated nevertheless.
  oneOf("moderation", options.moderation, ["low", "auto"], "auto");
  oneOf("response_format", options.response_format, ["url", "b64_json"], "b64_json");
  const fidelity = oneOf("input_fidelity", options.input_fidelity, ["high", "low"], "high");
  const n = integer("n", options.n, 1, 10, 1);
  const compression = integer("output_compression", options.output_compression, 0, 100, 100);
  const frames = integer("frame_count", options.frame_count, 2, 16, 9);
  const frameMs = readFrameMs(options.frame_duration_ms);
  const partials = integer("partial_images", options.partial_images, 0, 3, 0);
  const seed = integer("seed", options.seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 0);

  checkEncoding(format, background, compression);
  checkGif(format, options, isStream, edit?.mask !== undefined);
  checkSvg(format, options, isStream, edit !== undefined, n);

  const size = readSize(options.size);
  return {
    n,
    ...(size !== undefined && { size }),
    quality,
    detail: detailOf[quality] * complexityFactor[complexity],
    background,
    format,
    compression,
    frames,
    frameMs,
    partials: isStream ? partials : 0,
    saturation,
    fidelity,
    seed,
  };
}

/** `standard` and `hd` are the names of the older models. */
function readQuality(value: string | undefined): Quality {
  const name = oneOf("quality", value, ["auto", "standard", "hd", ...qualities], "auto");
  if (name === "auto" || name === "standard") return "medium";
  return name === "hd" ? "high" : name;
}

const readSaturation = (style: string | undefined): number =>
  style === undefined ? 1 : saturationOf[oneOf("style", style, ["vivid", "natural"], "vivid")];

/** GIF stores delays in hundredths of a second. */
function readFrameMs(value: unknown): number {
  const requested = integer("frame_duration_ms", value, 1, 655_350, 200);
  return Math.max(10, Math.round(requested / 10) * 10);
}

function readSize(text: string | undefined): Size | undefined {
  if (text === undefined || text === "auto") return undefined;
  const match = /^(\d{1,5})x(\d{1,5})$/.exec(text);
  const [width, height] = [Number(match?.[1]), Number(match?.[2])];
  const [least, most] = imageLimits.edge;
  const fits =
    match !== null &&
    Math.min(width, height) >= least &&
    Math.max(width, height) <= most &&
    width * height <= imageLimits.pixels;
  if (fits) return { width, height };
  throw invalid(
    "size",
    `Invalid size '${text.slice(0, 40)}'. Use 'auto' or WIDTHxHEIGHT with each edge from ${least} to ${most} and at most ${imageLimits.pixels} pixels.`,
  );
}

function checkEncoding(
  format: Format,
  background: DrawOptions["background"],
  compression: number,
): void {
  if (background === "transparent" && format === "jpeg") {
    throw invalid(
      "background",
      "JPEG has no transparency. For background 'transparent' use output_format 'png', 'webp', 'gif', or 'svg'.",
    );
  }
  if (compression !== 100 && format !== "jpeg" && format !== "webp") {
    throw invalid(
      "output_compression",
      `'output_compression' is only for output_format 'jpeg' or 'webp', not '${format}'.`,
    );
  }
}

function checkGif(
  format: Format,
  options: SketchOptions,
  isStream: boolean,
  hasMask: boolean,
): void {
  if (format !== "gif") {
    for (const param of ["frame_count", "frame_duration_ms"] as const) {
      if (options[param] === undefined) continue;
      throw invalid(param, `'${param}' is only for output_format 'gif'.`);
    }
    return;
  }
  if (isStream) {
    throw invalid("stream", "output_format 'gif' cannot be streamed. Leave out 'stream'.");
  }
  if (hasMask) throw invalid("mask", "output_format 'gif' cannot be used with a mask.");
}

function checkSvg(
  format: Format,
  options: SketchOptions,
  isStream: boolean,
  isEdit: boolean,
  n: number,
): void {
  if (format !== "svg") {
    if (options.svg === undefined) return;
    throw invalid("svg", "'svg' is only for output_format 'svg'.");
  }
  if (isEdit) {
    throw invalid(
      "output_format",
      `output_format 'svg' is not available for edits. Supported values are: ${quotedList(formats.filter((name) => name !== "svg"))}.`,
    );
  }
  if (n !== 1) {
    throw invalid("n", "output_format 'svg' gives one image per request: 'n' must be 1.");
  }
  if (isStream) {
    throw invalid("stream", "output_format 'svg' cannot be streamed. Leave out 'stream'.");
  }
}

function oneOf<T extends string>(
  param: string,
  value: string | undefined,
  allowed: readonly T[],
  fallback: T,
): T {
  if (value === undefined) return fallback;
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw invalid(
    param,
    `Invalid value: '${value.slice(0, 60)}'. Supported values are: ${quotedList(allowed)}.`,
  );
}

/** 'low' and 'high'; 'low', 'medium', and 'high'. */
function quotedList(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  if (quoted.length < 3) return quoted.join(" and ");
  return `${quoted.slice(0, -1).join(", ")}, and ${quoted.at(-1)}`;
}

function integer(
  param: string,
  value: unknown,
  low: number,
  high: number,
  fallback: number,
): number {
  if (value === undefined || value === null) return fallback;
  if (typeof value === "number" && Number.isInteger(value) && value >= low && value <= high) {
    return value;
  }
  throw invalid(
    param,
    `Invalid value for '${param}': expected a whole number from ${low} to ${high}.`,
  );
}

/** The size `auto` of a new image: a square, unless the prompt asks for a wide or tall image. */
export function autoSize({ shape }: Brief): Size {
  if (shape === "wide") return { width: 1536, height: 1024 };
  if (shape === "tall") return { width: 1024, height: 1536 };
  return { width: 1024, height: 1024 };
}

/** The size `auto` of an edit: the size of the image, scaled to fit the limits. */
export function boundedSize({ width, height }: Size): Size {
  const [least, most] = imageLimits.edge;
  const shrink = Math.min(
    1,
    most / width,
    most / height,
    Math.sqrt(imageLimits.pixels / (width * height)),
  );
  const grow = Math.max(1, least / (width * shrink), least / (height * shrink));
  const edge = (value: number): number =>
    Math.min(most, Math.max(least, Math.floor(value * shrink * grow + 1e-9)));
  return { width: edge(width), height: edge(height) };
}
