/** The caller's options, checked once: what is not allowed is refused by name, what is `auto` is decided. */
import { GatewayError } from "../../../std/gateway-error.ts";
import type { EditQuery, GenerationQuery } from "../../contract.ts";
import type { Brief } from "./words/brief.ts";

export const formats = ["png", "jpeg", "webp", "gif", "svg"] as const;
export type Format = (typeof formats)[number];
const qualities = ["low", "medium", "high", "xhigh", "max"] as const;
export type Quality = (typeof qualities)[number];

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Wish {
  readonly n: number;
  /** Absent where the caller leaves it to us. */
  readonly size?: Size;
  readonly quality: Quality;
  /** How much of everything is drawn: 0.5 rough .. 3 fine. */
  readonly detail: number;
  readonly background: "auto" | "transparent" | "opaque";
  readonly format: Format;
  /** Of the JPEG or WebP encoder. */
  readonly compression: number;
  readonly frames: number;
  readonly frameMs: number;
  readonly partials: number;
  /** 1 as drawn. */
  readonly saturation: number;
  readonly fidelity: "high" | "low";
  readonly seed: number;
}

const limits = { edge: [16, 4096], pixels: 8_294_400, prompt: 32_000 } as const;
const detailOf: Record<Quality, number> = { low: 0.55, medium: 1, high: 1.6, xhigh: 2.2, max: 3 };
const effort: Readonly<Record<string, number>> = { low: 0.8, medium: 1, high: 1.15 };

const refuse = (param: string, message: string): GatewayError =>
  new GatewayError("invalid_value", message, { param });

const listed = (values: readonly string[]): string =>
  values.length < 2
    ? `'${values.join("")}'`
    : `${values
        .slice(0, -1)
        .map((value) => `'${value}'`)
        .join(", ")}, and '${values.at(-1)}'`;

function oneOf<T extends string>(
  param: string,
  value: string | undefined,
  allowed: readonly T[],
  otherwise: T,
): T {
  if (value === undefined) return otherwise;
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined)
    throw refuse(
      param,
      `Invalid value: '${value.slice(0, 60)}'. Supported values are: ${listed(allowed)}.`,
    );
  return found;
}

function whole(
  param: string,
  value: unknown,
  low: number,
  high: number,
  otherwise: number,
): number {
  if (value === undefined || value === null) return otherwise;
  if (typeof value !== "number" || !Number.isInteger(value) || value < low || value > high) {
    throw refuse(
      param,
      `Invalid value for '${param}': expected a whole number from ${low} to ${high}.`,
    );
  }
  return value;
}

function sizeOf(text: string | undefined): Size | undefined {
  if (text === undefined || text === "auto") return undefined;
  const match = /^(\d{1,5})x(\d{1,5})$/.exec(text);
  const [width, height] = [Number(match?.[1]), Number(match?.[2])];
  const [least, most] = limits.edge;
  const fits =
    match !== null &&
    Math.min(width, height) >= least &&
    Math.max(width, height) <= most &&
    width * height <= limits.pixels;
  if (!fits) {
    throw refuse(
      "size",
      `Invalid size '${text.slice(0, 40)}'. Use 'auto' or WIDTHxHEIGHT with each edge from ${least} to ${most} and at most ${limits.pixels} pixels.`,
    );
  }
  return { width, height };
}

export function readOptions(query: GenerationQuery, edit?: EditQuery): Wish {
  if (query.prompt.length > limits.prompt) {
    throw new GatewayError(
      "prompt_too_long",
      `Prompt must be length ${limits.prompt} or less. Your prompt length is ${query.prompt.length}. Please reduce your prompt length.`,
      { param: "prompt" },
    );
  }
  const { options } = query;
  const format = oneOf("output_format", options.output_format, formats, "png");
  const asked = oneOf("quality", options.quality, ["auto", "standard", "hd", ...qualities], "auto");
  const quality: Quality =
    asked === "auto" || asked === "standard" ? "medium" : asked === "hd" ? "high" : asked;
  const background = oneOf(
    "background",
    options.background,
    ["auto", "transparent", "opaque"],
    "auto",
  );
  const style =
    options.style === undefined
      ? undefined
      : oneOf("style", options.style, ["vivid", "natural"], "vivid");
  const complexity = oneOf("complexity", options.complexity, ["low", "medium", "high"], "medium");
  oneOf("moderation", options.moderation, ["low", "auto"], "auto");
  oneOf("response_format", options.response_format, ["url", "b64_json"], "b64_json");
  const fidelity = oneOf("input_fidelity", options.input_fidelity, ["high", "low"], "high");
  const n = whole("n", options.n, 1, 10, 1);
  const compression = whole("output_compression", options.output_compression, 0, 100, 100);
  const frames = whole("frame_count", options.frame_count, 2, 16, 9);
  const frameMs = Math.max(
    10,
    Math.round(whole("frame_duration_ms", options.frame_duration_ms, 1, 655_350, 200) / 10) * 10,
  );
  const partials = whole("partial_images", options.partial_images, 0, 3, 0);
  const seed = whole("seed", query.rest.seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 0);

  if (background === "transparent" && format === "jpeg")
    throw refuse(
      "background",
      "JPEG has no transparency. For background 'transparent' use output_format 'png', 'webp', 'gif', or 'svg'.",
    );
  if (compression !== 100 && format !== "jpeg" && format !== "webp")
    throw refuse(
      "output_compression",
      `'output_compression' is only for output_format 'jpeg' or 'webp', not '${format}'.`,
    );
  if (format !== "gif") {
    if (options.frame_count !== undefined)
      throw refuse("frame_count", "'frame_count' is only for output_format 'gif'.");
    if (options.frame_duration_ms !== undefined)
      throw refuse("frame_duration_ms", "'frame_duration_ms' is only for output_format 'gif'.");
  } else {
    if (query.stream)
      throw refuse("stream", "output_format 'gif' cannot be streamed. Leave out 'stream'.");
    if (edit?.mask !== undefined)
      throw refuse("mask", "output_format 'gif' cannot be used with a mask.");
  }
  if (format === "svg") {
    if (edit !== undefined)
      throw refuse(
        "output_format",
        "output_format 'svg' is not available for edits. Supported values are: 'png', 'jpeg', 'webp', and 'gif'.",
      );
    if (n !== 1) throw refuse("n", "output_format 'svg' makes one picture a call: 'n' must be 1.");
    if (query.stream)
      throw refuse("stream", "output_format 'svg' cannot be streamed. Leave out 'stream'.");
  } else if (options.svg !== undefined)
    throw refuse("svg", "'svg' is only for output_format 'svg'.");

  const size = sizeOf(options.size);
  return {
    n,
    ...(size !== undefined && { size }),
    quality,
    detail: detailOf[quality] * (effort[complexity] ?? 1),
    background,
    format,
    compression,
    frames,
    frameMs,
    partials: query.stream ? partials : 0,
    saturation: style === "vivid" ? 1.22 : style === "natural" ? 0.78 : 1,
    fidelity,
    seed,
  };
}

/** `auto` for a drawing: square, unless the words ask for a wide or tall one. */
export const autoSize = (brief: Brief): Size =>
  brief.shape === "wide"
    ? { width: 1536, height: 1024 }
    : brief.shape === "tall"
      ? { width: 1024, height: 1536 }
      : { width: 1024, height: 1024 };

/** `auto` for an edit: the picture's own size, brought within the limits. */
export function boundedSize({ width, height }: Size): Size {
  const [least, most] = limits.edge;
  const shrink = Math.min(
    1,
    most / width,
    most / height,
    Math.sqrt(limits.pixels / (width * height)),
  );
  const grow = Math.max(1, least / (width * shrink), least / (height * shrink));
  const edge = (value: number): number =>
    Math.min(most, Math.max(least, Math.floor(value * shrink * grow + 1e-9)));
  return { width: edge(width), height: edge(height) };
}
