/** Fake of Volcengine's Ark with Seedream: one path for generations and edits, and its own stream format. */

import { words } from "../../words.ts";
import { type FakeVendor, jsonOf, type VendorResponse } from "../image-vendor.ts";
import { fromDataUrl, toBase64 } from "./data-url.ts";

const key = "01234567-89ab-cdef-0123-456789abcdef";

const refusal = (
  status: number,
  type: string,
  code: string,
  message: string,
  param = "",
): VendorResponse => ({
  status,
  body: {
    error: { code, message: `${message} Request id: 021767540021379eff61`, param, type },
  },
});

const invalid = (param: string, why: string): VendorResponse =>
  refusal(
    400,
    "BadRequest",
    "InvalidParameter",
    `The parameter \`${param}\` specified in the request is not valid: ${why}.`,
  );

/** volcenginesdkarkruntime/resources/images/images.py, and volcengine.com/docs/82379/1541523 for `background`. */
const fields = words(`
  model prompt image response_format size seed guidance_scale watermark optimize_prompt
  optimize_prompt_options sequential_image_generation tools sequential_image_generation_options
  output_format stream background
`);

interface Rules {
  readonly names: readonly string[];
  readonly minPixels: number;
  readonly maxPixels: number;
  readonly reads: number;
  readonly formats: readonly string[];
  readonly streams: boolean;
  readonly transparent: boolean;
}

const open =
  (model: string, rules: Rules): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers, origin } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) {
      throw refusal(401, "Unauthorized", "AuthenticationError", wrongKey);
    }
    if (method !== "POST" || path !== "/api/v3/images/generations") {
      throw { status: 404, body: "404 page not found" };
    }
    const body = jsonOf(request, fields);
    if (body.model !== model) throw unknownModel(String(body.model));
    if (typeof body.prompt !== "string") throw invalid("prompt", "it is missing");
    const { response_format = "url", output_format, background, stream = false } = body;
    const size = sizeIn(body.size, rules);
    const shown = body.image === undefined ? [] : [body.image].flat();
    if (shown.length > rules.reads) {
      throw invalid("image", `number of reference images cannot exceed ${rules.reads}`);
    }
    const images = shown.map((image) => fromDataUrl(image, invalid("image", "not an image")));
    if (output_format !== undefined && !rules.formats.includes(String(output_format))) {
      throw invalid("output_format", "is not supported by the current model");
    }
    const transparent = background === "transparent";
    if (background !== undefined && !(transparent && rules.transparent)) {
      throw invalid("background", "is not supported by the current model");
    }
    if (transparent && images.length !== 1) {
      throw invalid("background", "transparent background requires exactly one input image");
    }
    if (transparent && output_format !== "png") {
      throw invalid("output_format", "must be png when background is transparent");
    }
    if (stream === true && !rules.streams) {
      throw invalid("stream", "is not supported by the current model");
    }
    const generated = await generator.generate(
      {
        prompt: body.prompt,
        n: 1,
        ...(size && { size }),
        options: {
          ...(output_format !== undefined && { output_format }),
          ...(transparent && { background }),
        },
        ...(images.length > 0 && { images }),
      },
      output_format === "png" ? "png" : "jpeg",
    );
    const [width = 2048, height = 2048] = (size ?? "").split("x").filter(Boolean).map(Number);
    const tokens = Math.floor((width * height) / 256) * generated.length;
    const entries = generated.map((image) => ({
      ...(response_format === "b64_json"
        ? { b64_json: toBase64(image) }
        : { url: generator.link(image, origin) }),
      size: `${width}x${height}`,
    }));
    const usage = {
      generated_images: generated.length,
      output_tokens: tokens,
      total_tokens: tokens,
    };
    if (stream === true) return { headers: eventStream, body: events(model, entries, usage) };
    return { body: { model, created: 1_757_323_224, data: entries, usage } };
  };

const eventStream = { "content-type": "text/event-stream; charset=utf-8" };

/** https://docs.byteplus.com/en/docs/ModelArk/1824137 */
const events = (model: string, entries: readonly object[], usage: object): string =>
  [
    ...entries.map((entry, image_index) => ({
      type: "image_generation.partial_succeeded",
      model,
      created: 1_757_396_757,
      image_index,
      ...entry,
    })),
    { type: "image_generation.completed", model, created: 1_757_396_825, usage },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .concat("data: [DONE]\n\n")
    .join("");

const wrongKey = "the API key or AK/SK in the request is missing or invalid.";

const unknownModel = (model: string): VendorResponse =>
  refusal(
    404,
    "NotFound",
    "InvalidEndpointOrModel.NotFound",
    `The model or endpoint ${model} does not exist or you do not have access to it.`,
  );

function sizeIn(size: unknown, { names, minPixels, maxPixels }: Rules): string | undefined {
  if (size === undefined || names.includes(String(size))) return undefined;
  const edges = (/^(\d+)x(\d+)$/.exec(String(size)) ?? []).slice(1).map(Number);
  const pixels = edges.reduce((a, b) => a * b, 1);
  if (edges.length !== 2) throw invalid("size", "the specified size is not supported for model");
  if (pixels < minPixels) throw invalid("size", `image size must be at least ${minPixels} pixels`);
  if (pixels > maxPixels) throw invalid("size", `image size must be at most ${maxPixels} pixels`);
  return String(size);
}

/** https://docs.byteplus.com/en/docs/ModelArk/1299023 */
const refusals = (model: string): FakeVendor["refusals"] => [
  {
    kind: "upstream_credentials",
    ...refusal(401, "Unauthorized", "AuthenticationError", wrongKey),
  },
  { kind: "model_not_found", ...unknownModel(model) },
  {
    kind: "model_not_found",
    ...refusal(404, "NotFound", "ModelNotOpen", "Your account has not activated the model."),
  },
  {
    kind: "moderation_blocked",
    ...refusal(
      400,
      "BadRequest",
      "InputTextSensitiveContentDetected",
      "The request failed because the input text may contain sensitive information.",
    ),
  },
  {
    kind: "moderation_blocked",
    body: {
      model,
      created: 1_757_323_224,
      data: [
        {
          error: {
            code: "OutputImageSensitiveContentDetected",
            message:
              "The request failed because the output image may contain sensitive information.",
          },
        },
      ],
      usage: { generated_images: 0, output_tokens: 0, total_tokens: 0 },
    },
  },
  {
    kind: "upstream_rejected",
    ...invalid("size", "the specified size is not supported for model seedream"),
  },
  {
    kind: "insufficient_quota",
    ...refusal(
      403,
      "Forbidden",
      "AccountOverdueError",
      "The request failed because your account has an overdue balance.",
    ),
  },
  {
    kind: "upstream_forbidden",
    ...refusal(
      403,
      "Forbidden",
      "AccessDenied",
      "The request failed because you do not have access to the requested resource.",
    ),
  },
  {
    kind: "upstream_rate_limit",
    ...refusal(
      429,
      "TooManyRequests",
      "ModelAccountIpmRateLimitExceeded",
      "The requests per minute limit of your account is exceeded.",
    ),
    headers: { "retry-after": "10" },
  },
  {
    kind: "upstream_overloaded",
    ...refusal(
      429,
      "TooManyRequests",
      "ServerOverloaded",
      "The service is currently unable to handle additional requests due to server overload.",
    ),
  },
  {
    kind: "upstream_error",
    ...refusal(
      500,
      "InternalServerError",
      "InternalServiceError",
      "The service encountered an unexpected internal error.",
    ),
  },
];

const vendor = (name: string, model: string, rules: Rules): FakeVendor => ({
  name,
  kind: "volcengine",
  model,
  config: { apiKey: key },
  basePath: "/api/v3",
  operations: ["generations", "edits"],
  source:
    "https://docs.byteplus.com/en/docs/ModelArk/1541523, https://docs.byteplus.com/en/docs/ModelArk/1824137",
  open: open(model, rules),
  refusals: refusals(model),
});

export const volcengine: readonly FakeVendor[] = [
  vendor("volcengine-seedream-4.0", "doubao-seedream-4-0-250828", {
    names: ["1K", "2K", "4K"],
    minPixels: 921_600,
    maxPixels: 16_777_216,
    reads: 14,
    formats: [],
    streams: true,
    transparent: false,
  }),
  vendor("volcengine-seedream-4.5", "doubao-seedream-4-5-251128", {
    names: ["2K", "4K"],
    minPixels: 3_686_400,
    maxPixels: 16_777_216,
    reads: 14,
    formats: [],
    streams: true,
    transparent: false,
  }),
  vendor("volcengine-seedream-5.0-lite", "doubao-seedream-5-0-lite-260128", {
    names: ["2K", "3K", "4K"],
    minPixels: 3_686_400,
    maxPixels: 16_777_216,
    reads: 14,
    formats: ["png", "jpeg"],
    streams: true,
    transparent: false,
  }),
  vendor("volcengine-seedream-5.0-pro", "doubao-seedream-5-0-pro-260628", {
    names: ["1K", "1.5K", "2K"],
    minPixels: 921_600,
    maxPixels: 4_624_220,
    reads: 10,
    formats: ["png", "jpeg"],
    streams: false,
    transparent: true,
  }),
];
