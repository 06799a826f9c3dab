/** The options that both image routes share, and how a parsed body becomes a query. */
import { z } from "zod";
import type { GenerationQuery, ImageOptions } from "../upstream/contract.ts";
import { maxTextLength } from "./max-text-length.ts";

/**
 * Values that depend on the model (sizes, qualities, formats) are strings here: the model decides.
 * What no model can mean is refused at once.
 */
const options = {
  n: z.int().min(1).optional().describe("How many pictures; the most depends on the model."),
  size: z.string().min(1).optional().describe("WIDTHxHEIGHT or auto."),
  quality: z
    .string()
    .min(1)
    .optional()
    .describe("auto, low, medium, high, xhigh, max, standard, hd."),
  background: z.string().min(1).optional().describe("auto, transparent or opaque."),
  moderation: z.string().min(1).optional().describe("auto or low."),
  output_format: z.string().min(1).optional().describe("Kind of file: png, jpeg, webp, gif, svg."),
  output_compression: z.int().min(0).max(100).optional().describe("For jpeg and webp."),
  response_format: z
    .enum(["url", "b64_json"])
    .optional()
    .describe("How a picture is handed over: as a link or as base64."),
  partial_images: z.int().min(0).max(3).optional().describe("Previews in a stream."),
  style: z.string().min(1).optional().describe("vivid or natural."),
  user: z.string().optional(),
  safety_identifier: z.string().optional(),
  complexity: z.string().min(1).optional().describe("low, medium or high."),
  frame_count: z.int().min(2).max(16).optional().describe("Of a gif."),
  frame_duration_ms: z.int().min(0).max(655_350).optional().describe("Of a gif."),
  svg: z.record(z.string(), z.unknown()).optional(),
  input_fidelity: z.string().min(1).optional().describe("high or low; edits only."),
} as const satisfies Record<keyof ImageOptions, z.ZodType>;

export const optionNames = Object.keys(options) as (keyof ImageOptions)[];

const modelId = z
  .string()
  .min(1)
  .describe("The public id of an image model. Absent: the default of the key.");

export const sharedFields = {
  model: modelId.optional(),
  prompt: z.string().min(1).max(maxTextLength).describe("What to draw."),
  stream: z.boolean().optional().describe("Answer as server-sent events."),
  ...options,
} as const;

/** The same once the model of the request is known. */
export const fieldsWithModel = { ...sharedFields, model: modelId } as const;

/** Fields of a form that are not text. */
export const integerFields: ReadonlySet<string> = new Set([
  "n",
  "output_compression",
  "partial_images",
  "frame_count",
  "frame_duration_ms",
]);
export const booleanFields: ReadonlySet<string> = new Set(["stream"]);

type ParsedBody = { model: string; prompt: string; stream?: boolean | undefined } & Record<
  string,
  unknown
>;

/** Splits a parsed body into what the gateway acts on and what only rides along. */
export function toQuery({ model, prompt, stream, ...others }: ParsedBody): GenerationQuery {
  const known = new Set<string>(optionNames);
  const entries = Object.entries(others).filter(([, value]) => value !== undefined);
  return {
    model,
    prompt,
    stream: stream ?? false,
    options: Object.fromEntries(entries.filter(([name]) => known.has(name))) as ImageOptions,
    rest: Object.fromEntries(entries.filter(([name]) => !known.has(name))),
  };
}
