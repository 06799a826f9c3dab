/** Validates an image request as OpenAI does: the fields and values that each model accepts. */

import { type Check, flag, integer, notOneOf, oneOf, prompt, text } from "./checks.ts";
import { embeddingModels, type ImageModel, imageModels } from "./models.ts";
import { imageRefused, invalid, missingField, noModel, unknownField } from "./refusal.ts";

export interface ImageQuery {
  readonly model: ImageModel;
  readonly prompt: string;
  readonly n: number;
  readonly width: number;
  readonly height: number;
  /** Never `auto`: the response has the generated quality. */
  readonly quality: string;
  readonly transparent: boolean;
  readonly format: "png" | "jpeg" | "webp";
  readonly stream: boolean;
  readonly partials: number;
  readonly asUrl: boolean;
  readonly safetyIdentifier?: string;
}

export type Operation = "generations" | "edits" | "json-edits";

const size =
  ({ sizes, family }: ImageModel): Check =>
  (value, field) => {
    text(value, field);
    if (value === "auto" && family === "gpt") return;
    if (sizes !== "flexible") {
      if (sizes.includes(String(value))) return;
      if (family === "gpt") throw notOneOf(String(value), sizes, field);
      throw invalid("The size is not supported by this model.", "invalid_size");
    }
    const [, w, h] = /^(\d+)x(\d+)$/.exec(String(value)) ?? [];
    const [width, height] = [Number(w), Number(h)];
    const bad = (why: string) => invalid(`Invalid size '${value}'. ${why}`, "invalid_value", field);
    if (!width || !height) throw bad("Expected a size like '1024x1024' or 'auto'."); // From memory.
    if (width % 16 || height % 16) throw bad("Width and height must both be divisible by 16.");
    const pixels = width * height;
    const ratio = Math.max(width, height) / Math.min(width, height);
    // The limits are documented; these messages are from memory.
    if (ratio > 3) throw bad("The aspect ratio must be between 1:3 and 3:1.");
    if (Math.max(width, height) > 3840 || pixels < 655_360 || pixels > 8_294_400)
      throw bad("The size is outside of the supported pixel and edge limits.");
  };

/** The fields a model knows on an operation. `image`, `images` and `mask` are read by `edit-images`. */
function fieldsOf(model: ImageModel, operation: Operation): Record<string, Check> {
  const most = { gpt: 32_000, "dall-e-3": 4000, "dall-e-2": 1000 }[model.family];
  const all = {
    model: text,
    prompt: prompt(most),
    n: integer(1, model.family === "dall-e-3" ? 1 : 10),
    size: size(model),
    user: text,
    ...(model.qualities.length > 0 && { quality: oneOf(model.qualities) }),
  };
  if (model.family === "dall-e-2") return { ...all, response_format: oneOf(["url", "b64_json"]) };
  if (model.family === "dall-e-3")
    return {
      ...all,
      response_format: oneOf(["url", "b64_json"]),
      style: oneOf(["vivid", "natural"]),
    };
  return {
    ...all,
    background: oneOf(["transparent", "opaque", "auto"]),
    output_format: oneOf(["png", "jpeg", "webp"]),
    output_compression: integer(0, 100),
    partial_images: integer(0, 3),
    stream: flag,
    safety_identifier: text,
    ...(operation !== "edits" && { moderation: oneOf(["low", "auto"]) }),
    ...(operation !== "generations" && { input_fidelity: oneOf(model.fidelities) }),
  };
}

function modelOf(fields: Record<string, unknown>, operation: Operation): ImageModel {
  const name = fields.model;
  // OpenAI documents no default model since it shut dall-e-2 down, so the fake requires a model.
  if (name === undefined) throw missingField("model");
  text(name, "model");
  if (String(name) in embeddingModels)
    throw imageRefused(`The model '${name}' does not exist.`, "invalid_value");
  const model = imageModels[String(name)];
  if (!model) throw noModel(String(name));
  if (operation !== "generations" && model.family === "dall-e-3")
    throw notOneOf("dall-e-3", ["dall-e-2"], "model");
  return model;
}

function refuseForbidden(prompt: string): void {
  if (!/\bforbidden\b/i.test(prompt)) return;
  throw imageRefused(
    "Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID req_fake. safety_violations=[violence].",
    "moderation_blocked",
    { moderation_details: { moderation_stage: "input", categories: ["violence"] } },
  );
}

/** `bodyFields` holds no image, images or mask. Null means absent, as everywhere on the image endpoints. */
export function readImageQuery(
  bodyFields: Readonly<Record<string, unknown>>,
  operation: Operation,
): ImageQuery {
  const fields: Record<string, unknown> = Object.fromEntries(
    Object.entries(bodyFields).filter(([, value]) => value !== null),
  );
  const model = modelOf(fields, operation);
  const known = fieldsOf(model, operation);
  if (fields.prompt === undefined) throw missingField("prompt");
  for (const [field, value] of Object.entries(fields)) {
    const check = known[field];
    if (!check) throw unknownField(field);
    check(value, field);
  }
  const transparent = fields.background === "transparent";
  const format = (fields.output_format ?? "png") as ImageQuery["format"];
  if (transparent && !model.transparent)
    throw imageRefused("Transparent background is not supported for this model.", "invalid_value");
  // From memory.
  if (transparent && format === "jpeg")
    throw imageRefused(
      "Transparent background is not supported for JPEG output format",
      "invalid_value",
    );
  if (format === "png" && Number(fields.output_compression ?? 100) < 100)
    throw imageRefused(
      "Compression less than 100 is not supported for PNG output format",
      "invalid_value",
    );
  const prompt = String(fields.prompt);
  refuseForbidden(prompt);
  const size = String(fields.size ?? "auto");
  const [width, height] = (size === "auto" ? "1024x1024" : size).split("x").map(Number);
  const quality = String(fields.quality ?? "auto");
  const identifier = fields.safety_identifier;
  return {
    model,
    prompt,
    n: Number(fields.n ?? 1),
    width: width!,
    height: height!,
    quality: quality === "auto" ? "medium" : quality,
    transparent,
    format,
    stream: fields.stream === true,
    partials: Number(fields.partial_images ?? 0),
    asUrl: model.family !== "gpt" && fields.response_format !== "b64_json",
    ...(typeof identifier === "string" && { safetyIdentifier: identifier }),
  };
}
