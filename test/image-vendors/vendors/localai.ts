/** LocalAI, as its source has it: core/http/endpoints/openai/image.go and inpainting.go. */
import {
  formOf,
  jsonOf,
  type Order,
  onlyKnown,
  type PictureVendor,
  type Studio,
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

/** schema.OpenAIRequest, those members of it that pictures have. */
const fields = [
  ...["model", "prompt", "n", "size", "step", "seed", "mode", "file", "files", "ref_images"],
  ...["response_format", "negative_prompt"],
];

/** What cannot be decoded is passed over in silence: then the picture is drawn without it. */
const decoded = (value: unknown): Uint8Array[] =>
  typeof value === "string" && /^[A-Za-z0-9+/]+=*$/.test(value)
    ? [Buffer.from(value, "base64")]
    : [];

function generationIn(body: Readonly<Record<string, unknown>>): Order {
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

const answerOf = (items: readonly object[]): VendorResponse => ({
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

async function generations(request: VendorRequest, studio: Studio, model: string) {
  const body = jsonOf(request);
  onlyKnown(body, fields);
  if (body.model !== model) throw notFound(String(body.model));
  const pictures = await studio.take(generationIn(body));
  return answerOf(
    pictures.map((picture) =>
      body.response_format === "b64_json"
        ? { b64_json: Buffer.from(picture).toString("base64") }
        : { url: studio.link(picture, request.origin) },
    ),
  );
}

async function inpainting(request: VendorRequest, studio: Studio, model: string) {
  const form = await formOf(request);
  onlyKnown(Object.fromEntries([...form.keys()].map((name) => [name, true])), [
    ...["model", "prompt", "steps", "image", "mask", "seed"],
  ]);
  if (form.get("model") !== model) throw notFound(String(form.get("model")));
  const bytesOf = async (name: string): Promise<Uint8Array> => {
    const part = form.get(name) as unknown;
    if (!(part instanceof Blob)) throw error(400, `code=400, message=missing ${name} file`);
    return new Uint8Array(await part.arrayBuffer());
  };
  const pictures = await studio.take({
    prompt: String(form.get("prompt")),
    n: 1,
    size: "512x512",
    images: [await bytesOf("image")],
    mask: await bytesOf("mask"),
  });
  return answerOf(pictures.map((picture) => ({ url: studio.link(picture, request.origin) })));
}

const open =
  (model: string): PictureVendor["open"] =>
  (studio) =>
  (request) => {
    const { method, path, headers } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) {
      throw error(401, "An authentication key is required", "invalid_request_error");
    }
    if (method === "POST" && path === "/v1/images/generations") {
      return generations(request, studio, model);
    }
    if (method === "POST" && path === "/v1/images/inpainting") {
      return inpainting(request, studio, model);
    }
    throw error(404, "Resource not found");
  };

const caseOf = (name: string, model: string): PictureVendor => ({
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
      fault: "upstream_credentials",
    },
    { ...notFound(model), fault: "model_not_found" },
    { ...error(404, "Resource not found"), fault: "upstream_error" },
    { ...error(400, "code=400, message=Bad Request"), fault: "upstream_rejected" },
    {
      ...error(429, "Quota exceeded", "quota_exceeded"),
      headers: { "content-type": "application/json", "retry-after": "60" },
      fault: "upstream_rate_limit",
    },
    {
      ...error(500, "rpc error: code = Unknown desc = error generating image"),
      fault: "upstream_error",
    },
    {
      ...error(503, "model is loading"),
      headers: { "content-type": "application/json", "retry-after": "5" },
      fault: "upstream_overloaded",
    },
  ],
});

export const localai: readonly PictureVendor[] = [
  caseOf("localai", "dreamshaper"),
  caseOf("localai-references", "flux.1-kontext-dev"),
];
