/**
 * Workers AI: cloudflare-docs, src/content/workers-ai-models; refusals as in its list of errors and in public reports.
 */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  formOf,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";

const key = "cf-token-of-this-test-0123456789";
const accountId = "023e105f4ecef8ad9ca31a8372d0c353";

const failed = (status: number, code: number, message: string): VendorResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: { result: null, success: false, errors: [{ code, message }], messages: [] },
});

const badInput = (message: string): VendorResponse =>
  failed(400, 5006, `AiError: AiError: Bad input: Error: ${message} (0c4f6d1e)`);

/** How one model parses a request, and its file format. */
interface Dialect {
  readonly read: (request: VendorRequest) => Promise<ParsedRequest> | ParsedRequest;
  readonly kind: "png" | "jpeg";
  /** The response body is the image itself. */
  readonly bare: boolean;
}

const open =
  (model: string, { read, kind, bare }: Dialect): FakeVendor["open"] =>
  (generator: ImageGenerator) =>
  async (request) => {
    const { method, path, headers } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) {
      throw failed(401, 10000, "Authentication error");
    }
    const run = `/client/v4/accounts/${accountId}/ai/run/`;
    if (method !== "POST" || !path.startsWith(run)) {
      throw failed(
        404,
        7003,
        `Could not route to ${path}, perhaps your object identifier is invalid?`,
      );
    }
    if (path !== run + model)
      throw failed(400, 5007, `No such model ${path.slice(run.length)} or task`);
    const [image = new Uint8Array()] = await generator.generate(await read(request), kind);
    if (bare) return { headers: { "content-type": `image/${kind}` }, body: image };
    return {
      body: {
        result: image.length === 0 ? {} : { image: Buffer.from(image).toString("base64") },
        success: true,
        errors: [],
        messages: [],
      },
    };
  };

function sizeIn(
  { width, height }: Readonly<Record<string, unknown>>,
  least: number,
  most: number,
): Pick<ParsedRequest, "size"> {
  if (width === undefined && height === undefined) return {};
  for (const [name, edge] of Object.entries({ width, height })) {
    if (!Number.isInteger(edge)) throw badInput(`Type mismatch of '/${name}', 'integer' wanted`);
    if (Number(edge) < least || Number(edge) > most) {
      throw badInput(`'/${name}' must be >= ${least} and <= ${most}`);
    }
  }
  return { size: `${width}x${height}` };
}

function promptIn({ prompt }: Readonly<Record<string, unknown>>, most = 100_000): string {
  if (typeof prompt !== "string" || prompt === "") {
    throw badInput("required properties at '/' are 'prompt'");
  }
  if (prompt.length > most) throw badInput(`Length of '/prompt' must be <= ${most}`);
  return prompt;
}

const schnell: Dialect = {
  kind: "jpeg",
  bare: false,
  read: (request) => {
    const body = jsonOf(request);
    const unknown = Object.keys(body).filter((name) => !["prompt", "steps"].includes(name));
    if (unknown.length > 0) throw badInput(`additional property '${unknown[0]}' is not allowed`);
    return { prompt: promptIn(body, 2048), n: 1, size: "1024x1024" };
  },
};

const diffusionFields = words(`
  prompt negative_prompt height width image image_b64 mask num_steps strength guidance seed
`);

/** Stable Diffusion: an image as base64, a mask as a list of bytes. */
const diffusion: Dialect = {
  kind: "png",
  bare: true,
  read: (request) => {
    const body = jsonOf(request, diffusionFields);
    const { image_b64, mask } = body;
    if (mask !== undefined && !isBytes(mask))
      throw badInput("Type mismatch of '/mask', 'array' wanted");
    return {
      prompt: promptIn(body),
      n: 1,
      ...sizeIn(body, 256, 2048),
      ...(typeof image_b64 === "string" && { images: [Buffer.from(image_b64, "base64")] }),
      ...(mask !== undefined && { mask: Uint8Array.from(mask as number[]) }),
    };
  },
};

const isBytes = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((byte) => Number.isInteger(byte) && Number(byte) >= 0 && Number(byte) <= 255);

/** changelog/2025-11-25-flux-2-dev-workers-ai. */
const flux2: Dialect = {
  kind: "jpeg",
  bare: false,
  read: async (request) => {
    if (!request.headers.get("content-type")?.startsWith("multipart/form-data")) {
      throw badInput("required properties at '/' are 'multipart'");
    }
    const form = await formOf(request);
    const fields: Record<string, unknown> = {};
    const images: Uint8Array[] = [];
    for (const [name, value] of form.entries()) {
      if (typeof value === "string") fields[name] = value;
      else if (name !== `input_image_${images.length}` || images.length >= 4) {
        throw badInput(`'${name}' is not expected`);
      } else images.push(new Uint8Array(await (value as Blob).arrayBuffer()));
    }
    rejectUnknownFields(fields, ["prompt", "steps", "guidance", "width", "height", "seed"]);
    const edge = (name: string) => (fields[name] === undefined ? undefined : Number(fields[name]));
    return {
      prompt: promptIn(fields),
      n: 1,
      ...sizeIn({ width: edge("width"), height: edge("height") }, 256, 1920),
      ...(images.length > 0 && { images }),
    };
  },
};

const refusals: FakeVendor["refusals"] = [
  { ...failed(401, 10000, "Authentication error"), kind: "upstream_credentials" },
  { ...failed(400, 5007, "No such model or task"), kind: "model_not_found" },
  {
    ...failed(
      404,
      7003,
      `Could not route to /client/v4/accounts/${accountId}/ai/run, perhaps your object identifier is invalid?`,
    ),
    kind: "upstream_error",
  },
  {
    ...failed(
      400,
      5006,
      `AiError: Bad input in accounts/${accountId}: Error: '/num_steps' must be <= 20`,
    ),
    kind: "upstream_rejected",
  },
  {
    ...failed(400, 3030, "AiError: AiError: Input prompt contains NSFW content (8f2a1c)"),
    kind: "moderation_blocked",
  },
  {
    ...failed(
      400,
      3030,
      "AiError: AiError: Your output has been flagged. Please choose another prompt / input image combination (8f2a1c)",
    ),
    kind: "moderation_blocked",
  },
  { ...failed(408, 3007, "Request timeout"), kind: "upstream_timeout" },
  { ...failed(413, 3006, "Request is too large"), kind: "upstream_rejected" },
  {
    ...failed(
      429,
      4006,
      "you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage.",
    ),
    kind: "insufficient_quota",
  },
  {
    ...failed(429, 3040, "No more data centers to forward the request to"),
    kind: "upstream_overloaded",
  },
  {
    ...failed(429, 971, "Please wait and consider throttling your request speed"),
    headers: { "content-type": "application/json", "retry-after": "9" },
    kind: "upstream_rate_limit",
  },
  { status: 500, body: "", kind: "upstream_error" },
];

const caseOf = (
  name: string,
  model: string,
  dialect: Dialect,
  operations: FakeVendor["operations"],
): FakeVendor => ({
  name,
  kind: "cloudflare",
  model,
  config: { apiKey: key, accountId },
  basePath: "/client/v4",
  operations,
  source: `cloudflare/cloudflare-docs: src/content/workers-ai-models/${model.split("/").at(-1)}.json`,
  open: open(model, dialect),
  refusals,
});

export const cloudflare: readonly FakeVendor[] = [
  caseOf("cloudflare-flux-1", "@cf/black-forest-labs/flux-1-schnell", schnell, ["generations"]),
  caseOf("cloudflare-flux-2", "@cf/black-forest-labs/flux-2-dev", flux2, ["generations", "edits"]),
  caseOf("cloudflare-stable-diffusion", "@cf/stabilityai/stable-diffusion-xl-base-1.0", diffusion, [
    "generations",
  ]),
  caseOf("cloudflare-img2img", "@cf/runwayml/stable-diffusion-v1-5-img2img", diffusion, ["edits"]),
  caseOf("cloudflare-inpainting", "@cf/runwayml/stable-diffusion-v1-5-inpainting", diffusion, [
    "edits",
  ]),
];
