/** Image requests: each option with values that some model supports, and values that none supports. */
import fc from "fast-check";
import type { EditQuery, GenerationQuery, ImageOptions } from "../../server/upstream/contract.ts";
import { fileOf } from "./adapter-cases.ts";
import type { Row } from "./image-plan-rows.ts";

/** Legal somewhere, or nowhere. */
const values = {
  n: [1, 2, 10],
  size: ["auto", "1024x1024", "1536x1024", "512x512", "1792x936", "999x1", "16:9", "2K", "huge"],
  quality: ["auto", "low", "medium", "high", "xhigh", "max", "standard", "hd", "odd"],
  background: ["auto", "opaque", "transparent", "odd"],
  moderation: ["auto", "low"],
  output_format: ["png", "jpeg", "webp", "gif", "svg", "odd"],
  output_compression: [0, 50, 100],
  response_format: ["url", "b64_json"],
  style: ["vivid", "natural"],
  user: ["u", "someone in particular"],
  safety_identifier: ["s", "x".repeat(200)],
  complexity: ["low", "medium", "high"],
  frame_count: [4],
  frame_duration_ms: [100],
  svg: [{ model: "writer" }],
  input_fidelity: ["high", "low"],
  partial_images: [0, 2],
} as const satisfies Record<keyof ImageOptions, readonly unknown[]>;

const names = Object.keys(values) as (keyof ImageOptions)[];

/** Each value of each option alone, and combinations of options that affect each other. */
export function* optionValues(): Generator<ImageOptions> {
  for (const name of names) for (const value of values[name]) yield { [name]: value };
  for (const output_format of values.output_format) {
    for (const background of values.background) yield { output_format, background };
    for (const output_compression of values.output_compression) {
      yield { output_format, output_compression };
      yield { output_compression, output_format };
    }
  }
  for (const user of values.user) {
    for (const safety_identifier of values.safety_identifier) yield { user, safety_identifier };
  }
}

/** Any of them together. */
export const optionCombinations: fc.Arbitrary<ImageOptions> = fc.record(
  Object.fromEntries(names.map((name) => [name, fc.constantFrom<unknown>(...values[name])])),
  { requiredKeys: [] },
);

const png = Buffer.from("89504e470d0a1a0a", "hex");

export function queryOf(
  options: ImageOptions,
  { operation, capabilities }: Row,
  stream = false,
): GenerationQuery | EditQuery {
  const query = { model: "public", prompt: "an otter", stream, options, extraFields: {} };
  if (operation === "generations") return query;
  const file = fileOf("image", "a.png", "image/png", png);
  const image = capabilities.edits?.linksOnly
    ? ({ kind: "url", url: "https://example.com/a.png" } as const)
    : ({ kind: "file", file } as const);
  return { ...query, images: [image], files: [] };
}
