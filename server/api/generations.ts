/** POST /v1/images/generations, and the fields that edits share with it. */
import { z } from "zod";
import { bodyWithoutNulls, validate } from "../http/read-body.ts";
import type { Endpoint } from "../pipeline/endpoint.ts";
import { maxTextLength } from "../request/max-text-length.ts";
import type { GenerationQuery, ImageOptions, ImageResponse } from "../upstream/contract.ts";
import { writeImages } from "./image-response.ts";

/**
 * Values that depend on the model (sizes, qualities, formats) are any string here; the model's capabilities decide.
 * Values that no model supports are refused here.
 */
const options = {
  n: z.int().min(1).optional().describe("The number of images; the maximum depends on the model."),
  size: z.string().min(1).optional().describe("WIDTHxHEIGHT or auto."),
  quality: z
    .string()
    .min(1)
    .optional()
    .describe("auto, low, medium, high, xhigh, max, standard or hd."),
  background: z.string().min(1).optional().describe("auto, transparent or opaque."),
  moderation: z.string().min(1).optional().describe("auto or low."),
  output_format: z
    .string()
    .min(1)
    .optional()
    .describe("The file format: png, jpeg, webp, gif or svg."),
  output_compression: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .describe("The compression of jpeg and webp files, 0 to 100."),
  response_format: z
    .enum(["url", "b64_json"])
    .optional()
    .describe("Whether images are returned as URLs or as base64."),
  partial_images: z
    .int()
    .min(0)
    .max(3)
    .optional()
    .describe("The number of partial images in a stream."),
  style: z.string().min(1).optional().describe("vivid or natural."),
  user: z.string().optional(),
  safety_identifier: z.string().optional(),
  complexity: z.string().min(1).optional().describe("low, medium or high."),
  frame_count: z.int().min(2).max(16).optional().describe("The number of frames of a gif."),
  frame_duration_ms: z
    .int()
    .min(0)
    .max(655_350)
    .optional()
    .describe("The duration of each frame of a gif."),
  svg: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      "For output_format svg: model, and reasoning with its effort. In a form: svg[model], svg[reasoning][effort].",
    ),
  input_fidelity: z.string().min(1).optional().describe("high or low; edits only."),
} as const satisfies Record<keyof ImageOptions, z.ZodType>;

/** The names of the fields that become options of the query. All other fields are passed through. */
const optionNames = Object.keys(options) as (keyof ImageOptions)[];

const modelId = z
  .string()
  .min(1)
  .describe("The public ID of an image model. Default: the default model of the API key.");

export const sharedFields = {
  model: modelId.optional(),
  prompt: z.string().min(1).max(maxTextLength).describe("The text that describes the image."),
  stream: z.boolean().optional().describe("Return the response as server-sent events."),
  async: z.boolean().optional().describe("Return a job at once; its result is fetched later."),
  ...options,
} as const;

/** The same fields after the default model is filled in. */
export const fieldsWithModel = { ...sharedFields, model: modelId } as const;

/** Form fields whose values are not text. */
export const integerFields: ReadonlySet<string> = new Set([
  "n",
  "output_compression",
  "partial_images",
  "frame_count",
  "frame_duration_ms",
]);
export const booleanFields: ReadonlySet<string> = new Set(["stream", "async"]);

type ParsedBody = {
  model: string;
  prompt: string;
  stream?: boolean | undefined;
  async?: boolean | undefined;
} & Record<string, unknown>;

/**
 * Splits a parsed body into known options and extra fields for passthrough. As at OpenAI, an empty `safety_identifier`
 * counts as absent.
 */
export function toQuery({
  model,
  prompt,
  stream,
  async: isAsync,
  ...others
}: ParsedBody): GenerationQuery {
  const known = new Set<string>(optionNames);
  const entries = Object.entries(others).filter(
    ([name, value]) => value !== undefined && !(name === "safety_identifier" && value === ""),
  );
  return {
    model,
    prompt,
    stream: stream ?? false,
    ...(isAsync && { isAsync }),
    options: Object.fromEntries(entries.filter(([name]) => known.has(name))) as ImageOptions,
    extraFields: Object.fromEntries(entries.filter(([name]) => !known.has(name))),
  };
}

/** For the OpenAPI document: the pipeline takes it out of the extra fields. */
export const metadata = z
  .unknown()
  .optional()
  .describe("Tags of the request. The metadata of a job stays with the job.");

export const generationsBody = z.looseObject({ ...sharedFields, metadata });
const bodyWithModel = z.looseObject(fieldsWithModel);

/** Throws GatewayError for a value that no model supports. */
export const parseGeneration = (body: Readonly<Record<string, unknown>>): GenerationQuery =>
  toQuery(validate(bodyWithModel, body));

export const generationsEndpoint: Endpoint<GenerationQuery, ImageResponse> = {
  operation: "generations",
  kind: "image",
  read: async (incoming, keyId, nameModel) => {
    const body = bodyWithoutNulls(await incoming.json(keyId));
    const model = nameModel(body.model);
    return { query: parseGeneration({ ...body, model }) };
  },
  write: (response, query, context) =>
    writeImages(response, { ...context(), family: "image_generation", query }),
};
