/** Fake of Tencent's TokenHub: litellm 1.109.1, llms/tencent/image_generation and image_edit. */
import { words } from "../../words.ts";
import {
  type FakeVendor,
  jsonOf,
  type ParsedRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { fromDataUrl, toBase64 } from "./data-url.ts";
import { present } from "./job-server.ts";

const key = "tokenhub-0123456789abcdef";
const model = "seedream-image-v5.0-pro";

const no = (status: number, code: string, message: string): VendorResponse => ({
  status,
  body: { error: { code, message, type: "invalid_request_error" } },
});

const fields = words(
  "model prompt size response_format output_format background user images seed watermark",
);

const open: FakeVendor["open"] = (generator) => async (request) => {
  const { method, path, headers, origin } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) throw no(401, "401", "Invalid API key");
  if (method !== "POST" || path !== "/v1/wand/si-image/generation")
    throw no(404, "404", "not found");
  const body = jsonOf(request, fields);
  if (body.model !== model) throw no(404, "model_not_found", "The model does not exist");
  const { prompt, size, response_format, output_format, background, user } = body;
  const images = (body.images as unknown[] | undefined)?.map((image) =>
    fromDataUrl(image, no(400, "400", "Invalid image")),
  );
  const parsed: ParsedRequest = {
    prompt: String(prompt),
    n: 1,
    ...(typeof size === "string" && { size }),
    options: present({ output_format, background, user }),
    ...(images && { images }),
  };
  const format = output_format === "jpeg" ? "jpeg" : "png";
  const [image] = await generator.generate(parsed, format);
  const content = (made: Uint8Array) =>
    response_format === "b64_json"
      ? { b64_json: toBase64(made) }
      : { url: generator.link(made, origin) };
  return {
    body: {
      created: 1_764_000_000,
      data: image ? [{ ...content(image), output_format: format }] : [],
      tokenhub_usage: { total_tokens: 4096 },
    },
  };
};

export const tencent: readonly FakeVendor[] = [
  {
    name: "tencent-seedream",
    kind: "tencent",
    model,
    config: { apiKey: key },
    basePath: "/v1",
    operations: ["generations", "edits"],
    source: "litellm 1.109.1, llms/tencent/image_generation/transformation.py",
    open,
    // The shape is not documented: these are errors of OpenAI-compatible servers.
    refusals: [
      { ...no(401, "invalid_api_key", "Invalid API key"), kind: "upstream_credentials" },
      { ...no(404, "model_not_found", "The model does not exist"), kind: "model_not_found" },
      { ...no(400, "invalid_parameter", "size is invalid"), kind: "upstream_rejected" },
      {
        ...no(429, "rate_limit_exceeded", "Too many requests"),
        headers: { "retry-after": "12" },
        kind: "upstream_rate_limit",
      },
      { ...no(503, "503", "Service unavailable"), kind: "upstream_overloaded" },
      { status: 500, body: "Internal Server Error", kind: "upstream_error" },
    ],
  },
];
