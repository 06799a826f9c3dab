/** LocalAI, as its source has it: core/http/endpoints/openai/image.go and inpainting.go. */

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

const key = "localai-key-of-this-test";

const error = (status: number, message: string, type = ""): VendorResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: { error: { code: status, message, type } },
});

const notFound = (model: string): VendorResponse =>
  error(
    404,
    `model "${model}" not found. To see available models, call GET /v1/models`,
    "invalid_request_error",
  );

/** The image members of schema.OpenAIRequest. */
const fields = words(`
  model prompt n size step seed mode file files ref_images response_format negative_prompt
`);

/** An undecodable image is ignored without an error. */
const decoded = (value: unknown): Uint8Array[] =>
  typeof value === "string" && /^[A-Za-z0-9+/]+=*$/.test(value)
    ? [Buffer.from(value, "base64")]
    : [];

function generationIn(body: Readonly<Record<string, unknown>>): ParsedRequest {
  const { prompt, n, size, file, ref_images } = body;
  if (typeof prompt !== "string") throw error(400, "code=400, message=Bad Request");
  const images = [file, ...(Array.isArray(ref_images) ? ref_images : [])].flatMap(decoded);
  const readable = typeof size === "string" && size.includes("x") ? size : "512x512";
  if (!/^\d+x\d+$/.test(readable)) throw error(500, "invalid value for 'size'");
  return {
    prompt,
    n: typeof n === "number" && n > 0 ? n : 1,
    size: readable,
    ...(images.length > 0 && { images }),
  };
}

const responseOf = (items: readonly object[]): VendorResponse => ({
  body: {
    id: "0195fd2c-36a4-7a9b-9c3e-2f6de03b4a55",
    created: 1_760_000_000,
    data: items.map((item) => ({ index: 0, ...item })),
    usage: {
      prompt_tokens: 0,
      completion_tokens: 0,
      total_tokens: 0,
      input_tokens_details: { text_tokens: 0, image_tokens: 0 },
    },
  },
});

async function generations(request: VendorRequest, generator: ImageGenerator, model: string) {
  const body = jsonOf(request, fields);
  if (body.model !== model) throw notFound(String(body.model));
  const generated = await generator.generate(generationIn(body));
  return responseOf(
    generated.map((image) =>
      body.response_format === "b64_json"
        ? { b64_json: Buffer.from(image).toString("base64") }
        : { url: generator.link(image, request.origin) },
    ),
  );
}

async function inpainting(request: VendorRequest, generator: ImageGenerator, model: string) {
  const form = await formOf(request);
  rejectUnknownFields(
    Object.fromEntries([...form.keys()].map((name) => [name, true])),
    words("model prompt steps image mask seed"),
  );
  if (form.get("model") !== model) throw notFound(String(form.get("model")));
  const bytesOf = async (name: string): Promise<Uint8Array> => {
    const part = form.get(name) as unknown;
    if (!(part instanceof Blob)) throw error(400, `code=400, message=missing ${name} file`);
    return new Uint8Array(await part.arrayBuffer());
  };
  const generated = await generator.generate({
    prompt: String(form.get("prompt")),
    n: 1,
    size: "512x512",
    images: [await bytesOf("image")],
    mask: await bytesOf("mask"),
  });
  return responseOf(generated.map((image) => ({ url: generator.link(image, request.origin) })));
}

const open =
  (model: string): FakeVendor["open"] =>
  (generator) =>
  (request) => {
    const { method, path, headers } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) {
      throw error(401, "An authentication key is required", "invalid_request_error");
    }
    if (method === "POST" && path === "/v1/images/generations") {
      return generations(request, generator, model);
    }
    if (method === "POST" && path === "/v1/images/inpainting") {
      return inpainting(request, generator, model);
    }
    throw error(404, "Resource not found");
  };

const caseOf = (name: string, model: string): FakeVendor => ({
  name,
  kind: "localai",
  model,
  config: { apiKey: key },
  basePath: "/v1",
  operations: ["generations", "edits"],
  source:
    "mudler/LocalAI: core/http/endpoints/openai/{image,inpainting}.go, docs/content/features/image-generation.md",
  open: open(model),
  refusals: [
    {
      ...error(401, "An authentication key is required", "invalid_request_error"),
      kind: "upstream_credentials",
    },
    { ...notFound(model), kind: "model_not_found" },
    { ...error(404, "Resource not found"), kind: "upstream_error" },
    { ...error(400, "code=400, message=Bad Request"), kind: "upstream_rejected" },
    {
      ...error(429, "Quota exceeded", "quota_exceeded"),
      headers: { "content-type": "application/json", "retry-after": "60" },
      kind: "upstream_rate_limit",
    },
    {
      ...error(500, "rpc error: code = Unknown desc = error generating image"),
      kind: "upstream_error",
    },
    {
      ...error(503, "model is loading"),
      headers: { "content-type": "application/json", "retry-after": "5" },
      kind: "upstream_overloaded",
    },
  ],
});

export const localai: readonly FakeVendor[] = [
  caseOf("localai", "dreamshaper"),
  caseOf("localai-references", "flux.1-kontext-dev"),
];
