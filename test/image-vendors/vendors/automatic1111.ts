/** AUTOMATIC1111's web UI, as its source has it: modules/api/api.py, modules/processing.py and modules/progress.py. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  rejectUnknownFields,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";

const login = "operator:password-of-this-test";
const checkpoint = "v1-5-pruned-emaonly";

/** handle_exception. */
const error = (status: number, detail: string, kind = "HTTPException"): VendorResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: { error: kind, detail, body: "", errors: "" },
});

/** Error bodies of FastAPI. */
const complaint = (field: string, msg: string): VendorResponse => ({
  status: 422,
  body: { detail: [{ loc: ["body", field], msg, type: "type_error" }] },
});

const both = words(`
  prompt negative_prompt styles seed subseed subseed_strength sampler_name scheduler batch_size
  n_iter steps cfg_scale width height denoising_strength override_settings
  override_settings_restore_afterwards force_task_id sampler_index restore_faces tiling
  script_name script_args alwayson_scripts send_images
`);
const ofImages = words(`
  init_images resize_mode mask mask_blur inpainting_fill inpaint_full_res inpaint_full_res_padding
  inpainting_mask_invert include_init_images
`);

function edgeIn(body: Readonly<Record<string, unknown>>, name: string): number {
  const edge = body[name] ?? 512;
  if (!Number.isInteger(edge)) throw complaint(name, "value is not a valid integer");
  // The latent of another size would be cut.
  if (Number(edge) % 8 !== 0) throw error(500, "", "RuntimeError");
  return Number(edge);
}

function parseRequest(body: Readonly<Record<string, unknown>>, isEdit: boolean): ParsedRequest {
  rejectUnknownFields(body, isEdit ? [...both, ...ofImages] : both);
  const { prompt = "", n_iter = 1, batch_size = 1, init_images, mask } = body;
  if (typeof prompt !== "string") throw complaint("prompt", "str type expected");
  if (isEdit && !Array.isArray(init_images)) throw error(404, "Init image not found");
  return {
    prompt,
    n: Number(n_iter) * Number(batch_size),
    size: `${edgeIn(body, "width")}x${edgeIn(body, "height")}`,
    ...(isEdit && { images: (init_images as unknown[]).map(decoded) }),
    ...(isEdit && typeof mask === "string" && { mask: decoded(mask) }),
  };
}

function decoded(encoding: unknown): Uint8Array {
  const bytes = Buffer.from(String(encoding).replace(/^data:image\/\w+;base64,/, ""), "base64");
  if (bytes.length === 0) throw error(500, "Invalid encoded image");
  return bytes;
}

async function generate(request: VendorRequest, generator: ImageGenerator, isEdit: boolean) {
  const body = jsonOf(request);
  const parsed = parseRequest(body, isEdit);
  const { sd_model_checkpoint } = (body.override_settings ?? {}) as Record<string, unknown>;
  // An unknown checkpoint is ignored; the loaded one generates the image.
  const known = [checkpoint, `${checkpoint}.safetensors`, `${checkpoint}.safetensors [6ce0161689]`];
  const other = !known.includes(String(sd_model_checkpoint));
  const generated = await generator.generate(parsed);
  return {
    body: {
      images: generated.map((image) => Buffer.from(image).toString("base64")),
      parameters: { ...body, init_images: null, mask: null },
      info: JSON.stringify({
        prompt: parsed.prompt,
        all_prompts: generated.map(() => parsed.prompt),
        negative_prompt: "",
        seed: 4001,
        all_seeds: generated.map((_, at) => 4001 + at),
        width: 512,
        height: 512,
        sampler_name: "Euler",
        steps: 50,
        batch_size: 1,
        sd_model_name: other ? "sd_xl_base_1.0" : checkpoint,
        sd_model_hash: other ? "31e35c80fc" : "6ce0161689",
        index_of_first_image: 0,
        infotexts: generated.map(() => "Steps: 50, Sampler: Euler, CFG scale: 7.0, Seed: 4001"),
        version: "v1.10.1",
      }),
    },
  } satisfies VendorResponse;
}

const open: FakeVendor["open"] = (generator) => (request) => {
  const { method, path, headers } = request;
  const proof = Buffer.from(login).toString("base64");
  if (headers.get("authorization") !== `Basic ${proof}`) {
    throw error(401, "Incorrect username or password");
  }
  if (method === "POST" && path === "/sdapi/v1/txt2img") return generate(request, generator, false);
  if (method === "POST" && path === "/sdapi/v1/img2img") return generate(request, generator, true);
  // Each job is done before its status can be requested.
  if (method === "POST" && path === "/internal/progress") {
    return {
      body: {
        active: false,
        queued: false,
        completed: true,
        progress: null,
        eta: null,
        live_preview: null,
        id_live_preview: -1,
        textinfo: "Waiting...",
      },
    };
  }
  throw { status: 404, body: { detail: "Not Found" } } satisfies VendorResponse;
};

export const automatic1111: readonly FakeVendor[] = [
  {
    name: "automatic1111",
    kind: "automatic1111",
    model: `${checkpoint}.safetensors`,
    config: { apiKey: login },
    operations: ["generations", "edits"],
    source: "AUTOMATIC1111/stable-diffusion-webui: modules/api/api.py, modules/api/models.py",
    open,
    refusals: [
      { ...error(401, "Incorrect username or password"), kind: "upstream_credentials" },
      { status: 404, body: { detail: "Not Found" }, kind: "upstream_error" },
      { ...error(400, "Sampler not found"), kind: "upstream_rejected" },
      { ...complaint("steps", "value is not a valid integer"), kind: "upstream_rejected" },
      { ...error(500, "Invalid encoded image"), kind: "upstream_rejected" },
      {
        status: 500,
        body: {
          error: "OutOfMemoryError",
          detail: "",
          body: "",
          errors: "CUDA out of memory. Tried to allocate 20.00 GiB",
        },
        kind: "upstream_error",
      },
    ],
  },
];
