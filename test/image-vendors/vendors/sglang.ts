/** SGLang 0.5.23's diffusion server, as its source has it: multimodal_gen/runtime/entrypoints/openai/image_api.py. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  formOf,
  type ImageGenerator,
  jsonOf,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";

const key = "sglang-key-of-this-test";
const model = "Qwen/Qwen-Image";

const error = (status: number, detail: string): VendorResponse => ({ status, body: { detail } });

interface Fields {
  readonly prompt: string;
  readonly n: number;
  readonly size?: string;
  readonly format: string;
}

/** `image_api.py`: links need storage in a cloud. `utils.py`: `_parse_size_or_raise`, `choose_output_image_ext`. */
function check(fields: Readonly<Record<string, unknown>>): Fields {
  const { prompt, n = 1, size, output_format: format = "jpg", response_format = "url" } = fields;
  if (typeof prompt !== "string") throw error(422, "Field required");
  if (response_format !== "b64_json")
    throw error(400, "response_format='url' requires cloud storage to be configured.");
  if (size !== undefined && !/^[1-9]\d*x[1-9]\d*$/.test(String(size)))
    throw error(400, "size must be formatted as positive WIDTHxHEIGHT");
  return {
    prompt,
    n: Number(n),
    ...(size !== undefined && { size: String(size) }),
    format: String(format),
  };
}

const responseOf = (images: readonly Uint8Array[], prompt: string): VendorResponse => ({
  body: {
    id: "8d2f",
    created: 1_760_000_000,
    data: images.map((image) => ({
      b64_json: Buffer.from(image).toString("base64"),
      url: null,
      revised_prompt: prompt,
      file_path: "/outputs/8d2f.png",
      resize: null,
    })),
    peak_memory_mb: 1024.5,
    inference_time_s: 1.5,
    usage: null,
  },
});

const formatOf = (format: string): "png" | "webp" | "jpeg" =>
  format === "png" || format === "webp" ? format : "jpeg";

async function generations(request: VendorRequest, generator: ImageGenerator) {
  const body = jsonOf(request, words("model prompt n size output_format response_format seed"));
  const { prompt, n, size, format } = check(body);
  const wanted = { prompt, n, size: size ?? "1024x1024" };
  return responseOf(await generator.generate(wanted, formatOf(format)), prompt);
}

async function edits(request: VendorRequest, generator: ImageGenerator) {
  const form = await formOf(request);
  const fields = Object.fromEntries(
    [...form.entries()].filter(([, value]) => typeof value === "string"),
  );
  rejectUnknownFields(
    Object.fromEntries([...form.keys()].map((name) => [name, true])),
    words("model prompt n size output_format response_format seed image"),
  );
  const { prompt, n, size, format } = check({ response_format: "b64_json", ...fields });
  const images = await Promise.all(
    form
      .getAll("image")
      .map(async (part) => new Uint8Array(await (part as unknown as Blob).arrayBuffer())),
  );
  if (images.length === 0) throw error(422, "Field 'image' or 'url' is required");
  const wanted = { prompt, n, ...(size && { size }), images };
  return responseOf(await generator.generate(wanted, formatOf(format)), prompt);
}

const open: FakeVendor["open"] = (generator) => (request) => {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) throw error(401, "Unauthorized");
  if (method === "POST" && path === "/v1/images/generations")
    return generations(request, generator);
  if (method === "POST" && path === "/v1/images/edits") return edits(request, generator);
  throw error(404, "Not Found");
};

export const sglang: FakeVendor = {
  name: "sglang",
  kind: "sglang",
  model,
  config: { apiKey: key },
  basePath: "/v1",
  operations: ["generations", "edits"],
  source:
    "sglang 0.5.23: multimodal_gen/runtime/entrypoints/openai/image_api.py, utils.py, protocol.py",
  open,
  refusals: [
    { ...error(401, "Unauthorized"), kind: "upstream_credentials" },
    { ...error(404, "Not Found"), kind: "upstream_error" },
    { ...error(400, "num_inference_steps must be positive"), kind: "upstream_rejected" },
    { ...error(422, "Field required"), kind: "upstream_rejected" },
    { ...error(500, "CUDA out of memory."), kind: "upstream_error" },
  ],
};
