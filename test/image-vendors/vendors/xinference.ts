/** Xinference 4.1.0, as its source has it: api/restful_api.py, api/schemas/requests.py, model/image/utils.py. */

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

const key = "xinference-key-of-this-test";
const model = "stable-diffusion-xl";

const error = (status: number, detail: string): VendorResponse => ({ status, body: { detail } });

const notFound = (uid: unknown): VendorResponse =>
  error(404, `Model not found in the model list, uid: ${String(uid)}`);

/** `map(int, re.split(r"[^\d]+", size))`, and the check of the pipelines of diffusers. */
function sizeIn(size: unknown): string {
  const edges = String(size).split(/[^\d]+/);
  const [width = "", height = ""] = edges;
  if (edges.length !== 2 || width === "" || height === "") {
    throw error(500, `invalid literal for int() with base 10: '${String(size)}'`);
  }
  if (Number(width) % 8 !== 0 || Number(height) % 8 !== 0) {
    throw error(
      500,
      `\`height\` and \`width\` have to be divisible by 8 but are ${height} and ${width}.`,
    );
  }
  return `${width}x${height}`;
}

/** Without `b64_json`, `url` is a path on the disk of the server. */
const responseOf = (images: readonly Uint8Array[], format: unknown): VendorResponse => ({
  body: {
    created: 1_760_000_000,
    data: images.map((image) =>
      format === "b64_json"
        ? { url: null, b64_json: Buffer.from(image).toString("base64") }
        : { url: "/root/.xinference/image/8d2f.jpg", b64_json: null },
    ),
  },
});

async function generations(request: VendorRequest, generator: ImageGenerator) {
  const body = jsonOf(request, words("model prompt n response_format size kwargs user"));
  if (body.model !== model) throw notFound(body.model);
  const { prompt, n = 1, size = "1024*1024", kwargs = "{}", response_format } = body;
  if (typeof prompt !== "string" || typeof kwargs !== "string") throw error(422, "not valid");
  JSON.parse(kwargs);
  const images = await generator.generate({ prompt, n: Number(n), size: sizeIn(size) }, "jpeg");
  return responseOf(images, response_format);
}

async function edits(request: VendorRequest, generator: ImageGenerator) {
  const form = await formOf(request);
  rejectUnknownFields(
    Object.fromEntries([...form.keys()].map((name) => [name, true])),
    words("model prompt n size response_format image mask"),
  );
  if (form.get("model") !== model) throw notFound(form.get("model"));
  const bytesOf = async (part: unknown): Promise<Uint8Array> =>
    new Uint8Array(await (part as Blob).arrayBuffer());
  const images = await Promise.all(form.getAll("image").map(bytesOf));
  if (images.length === 0) throw error(400, "At least one image file is required");
  const mask = form.get("mask") as unknown;
  const size = form.get("size");
  // Inpainting splits the size `""` of an absent one.
  if (mask && size === null) throw error(500, "invalid literal for int() with base 10: ''");
  const generated = await generator.generate(
    {
      prompt: String(form.get("prompt")),
      n: Number(form.get("n") ?? 1),
      ...(size !== null && { size: sizeIn(size) }),
      images,
      ...(mask !== null && { mask: await bytesOf(mask) }),
    },
    "jpeg",
  );
  return responseOf(generated, form.get("response_format"));
}

const open: FakeVendor["open"] = (generator) => (request) => {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) throw error(401, "Not authenticated");
  if (method === "POST" && path === "/v1/images/generations")
    return generations(request, generator);
  if (method === "POST" && path === "/v1/images/edits") return edits(request, generator);
  throw error(404, "Not Found");
};

export const xinference: FakeVendor = {
  name: "xinference",
  kind: "xinference",
  model,
  config: { apiKey: key },
  basePath: "/v1",
  operations: ["generations", "edits"],
  source:
    "xorbitsai/inference 4.1.0: xinference/api/restful_api.py, xinference/api/schemas/requests.py, xinference/model/image/utils.py",
  open,
  refusals: [
    { ...error(401, "Not authenticated"), kind: "upstream_credentials" },
    { ...notFound(model), kind: "model_not_found" },
    {
      ...error(400, "Model not found in the model list, uid: x (cached, retry after 5s)"),
      kind: "model_not_found",
    },
    {
      ...error(500, "`height` and `width` have to be divisible by 16 but are 1080 and 1920."),
      kind: "upstream_rejected",
    },
    { ...error(404, "Not Found"), kind: "upstream_error" },
    { ...error(422, "field required"), kind: "upstream_rejected" },
    { ...error(429, "Too many requests"), kind: "upstream_rate_limit" },
    { ...error(500, "CUDA out of memory."), kind: "upstream_error" },
  ],
};
