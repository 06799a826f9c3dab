/** Fake of DeepInfra: OpenAI's API, base64 only, at most four images per request. */
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  rejectUnknownFields,
  type VendorResponse,
} from "../image-vendor.ts";
import { toBase64 } from "./data-url.ts";
import { readForm } from "./form-request.ts";

const key = "deepdeepdeep0123456789abcdefghij";
const model = "black-forest-labs/FLUX-1-schnell";

const detail = (status: number, error: string): VendorResponse => ({
  status,
  body: { detail: { error } },
});

/** FastAPI's, which it is made with. */
const invalid = (name: string, msg: string): VendorResponse => ({
  status: 422,
  body: { detail: [{ loc: ["body", name], msg, type: "value_error" }] },
});

/** https://api.deepinfra.com/openapi.json: OpenAIImagesGenerationsIn, OpenAIImagesEditsIn. */
const shared = ["model", "prompt", "n", "size", "response_format", "user"];

interface Fields {
  readonly [name: string]: unknown;
}

const open: FakeVendor["open"] = (generator) => async (request) => {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) throw detail(401, "Not authenticated");
  if (method !== "POST") throw { status: 405, body: { detail: "Method Not Allowed" } };
  if (path === "/v1/openai/images/generations") {
    const body = jsonOf(request, [...shared, "quality", "style"]);
    return respond(body, {}, generator);
  }
  if (path !== "/v1/openai/images/edits") throw { status: 404, body: { detail: "Not Found" } };
  const form = await readForm(request);
  rejectUnknownFields(Object.fromEntries(form.names.map((name) => [name, true])), [
    ...shared,
    "image",
    "mask",
  ]);
  const images = form.files("image");
  if (images.length !== 1) throw invalid("image", "Field required");
  const [mask] = form.files("mask");
  return respond(form.texts, { images, ...(mask && { mask }) }, generator);
};

async function respond(
  fields: Fields,
  sources: object,
  generator: ImageGenerator,
): Promise<VendorResponse> {
  if (fields.model !== model) throw detail(404, "Model not found");
  const { prompt, size = "1024x1024", response_format = "b64_json", quality, style } = fields;
  const n = Number(fields.n ?? 1);
  if (typeof prompt !== "string") throw invalid("prompt", "Field required");
  if (!Number.isInteger(n) || n < 1 || n > 4) {
    throw invalid("n", "Input should be less than or equal to 4");
  }
  if (!/^\d+x\d+$/.test(String(size))) throw invalid("size", "Invalid size");
  if (response_format !== "b64_json")
    throw invalid("response_format", "Input should be 'b64_json'");
  const generated = await generator.generate(
    {
      prompt,
      n,
      ...(fields.size !== undefined && { size: String(size) }),
      options: { ...(quality !== undefined && { quality }), ...(style !== undefined && { style }) },
      ...sources,
    },
    "jpeg",
  );
  return {
    body: {
      created: 1_740_418_043,
      data: generated.map((image) => ({
        b64_json: toBase64(image),
        revised_prompt: null,
        url: null,
      })),
    },
  };
}

const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", ...detail(401, "User authentication failed") },
  { kind: "model_not_found", ...detail(404, "Model not found") },
  {
    kind: "insufficient_quota",
    ...detail(402, "inference prohibited, please enter a payment method"),
  },
  // As recorded in github.com/truefoundry/models/pull/862.
  {
    kind: "upstream_rate_limit",
    status: 429,
    headers: { "retry-after": "4" },
    body: { error: { message: "Model busy, retry later" } },
  },
  { kind: "moderation_blocked", ...detail(400, "NSFW content detected") },
  { kind: "upstream_rejected", ...detail(400, "width must be between 128 and 1920") },
  {
    kind: "upstream_rejected",
    ...invalid("n", "Input should be less than or equal to 4"),
  },
  { kind: "upstream_error", status: 500, body: { detail: "Internal Server Error" } },
];

export const deepinfra: readonly FakeVendor[] = [
  {
    name: "deepinfra",
    kind: "deepinfra",
    model,
    config: { apiKey: key },
    basePath: "/v1/openai",
    operations: ["generations", "edits"],
    source:
      "https://api.deepinfra.com/openapi.json, OpenAIImagesGenerationsIn and OpenAIImagesEditsIn",
    open,
    refusals,
  },
];
