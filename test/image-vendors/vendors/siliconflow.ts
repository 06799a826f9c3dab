/** Fake of SiliconFlow: its own fields at OpenAI's path, and links that expire after an hour. */

import { words } from "../../words.ts";
import { type FakeVendor, jsonOf, type VendorResponse } from "../image-vendor.ts";
import { fromDataUrl } from "./data-url.ts";

const key = "sk-siliconsiliconsilicon0123456789";

const refusal = (status: number, code: number, message: string): VendorResponse => ({
  status,
  body: { code, message, data: null },
});

/** https://docs.siliconflow.cn/docs/api/images-generations-post */
const fields = words(`
  model prompt negative_prompt image_size batch_size seed num_inference_steps guidance_scale cfg
  image image2 image3
`);

interface Rules {
  /** True: the model requires a size. False: it takes none. */
  readonly sized: boolean;
  readonly batch: number;
  readonly reads: number;
}

const open =
  (model: string, { sized, batch, reads }: Rules): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers, origin } = request;
    // SiliconFlow sends a JSON string here, not an object.
    if (headers.get("authorization") !== `Bearer ${key}`)
      throw { status: 401, body: '"Invalid token"' };
    if (method !== "POST" || path !== "/v1/images/generations") {
      throw { status: 404, body: "404 page not found" };
    }
    const body = jsonOf(request, fields);
    if (body.model !== model)
      throw refusal(400, 20_012, "Model does not exist. Please check it carefully.");
    const { prompt, image_size, batch_size = 1 } = body;
    const wrong = (name: string) => refusal(400, 20_015, `The parameter is invalid: ${name}`);
    if (typeof prompt !== "string") throw wrong("prompt");
    if (sized !== /^\d+x\d+$/.test(String(image_size))) throw wrong("image_size");
    if (!Number.isInteger(batch_size) || Number(batch_size) < 1 || Number(batch_size) > batch) {
      throw wrong("batch_size");
    }
    const shown = [body.image, body.image2, body.image3].filter((image) => image !== undefined);
    if (shown.length > reads) throw wrong("image2");
    const images = shown.map((image) => fromDataUrl(image, wrong("image")));
    const generated = await generator.generate({
      prompt,
      n: Number(batch_size),
      ...(sized && { size: String(image_size) }),
      ...(images.length > 0 && { images }),
    });
    const links = generated.map((image) => ({ url: generator.link(image, origin) }));
    return {
      headers: { "x-siliconcloud-trace-id": "ti_fake0123456789" },
      body: {
        images: links,
        timings: { inference: 2.312 },
        seed: 1_924_306_477,
        shared_id: "0",
        data: links,
        created: 1_760_335_349,
      },
    };
  };

/** As recorded by users; the documentation has the statuses only. */
const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", status: 401, body: '"Invalid token"' },
  { kind: "upstream_credentials", ...refusal(401, 30_014, "Token is invalid.") },
  {
    kind: "model_not_found",
    ...refusal(400, 20_012, "Model does not exist. Please check it carefully."),
  },
  { kind: "upstream_forbidden", ...refusal(403, 30_003, "Model disabled.") },
  {
    kind: "insufficient_quota",
    ...refusal(403, 30_001, "Sorry, your account balance is insufficient"),
  },
  {
    kind: "insufficient_quota",
    ...refusal(
      403,
      30_011,
      "The selected model requires paid balance. Your paid balance is insufficient. Please top up and try again.",
    ),
  },
  { kind: "upstream_rejected", ...refusal(400, 20_015, "The parameter is invalid: image_size") },
  {
    kind: "upstream_rate_limit",
    status: 429,
    headers: { "retry-after": "7" },
    body: {
      message:
        "Request was rejected due to rate limiting. If you want more, please contact contact@siliconflow.cn",
      data: { accessToken: null },
    },
  },
  {
    kind: "upstream_overloaded",
    ...refusal(503, 50_505, "Model service overloaded. Please try again later."),
  },
  { kind: "upstream_timeout", status: 504, body: "504 Gateway Timeout" },
];

const vendor = (
  name: string,
  model: string,
  operations: FakeVendor["operations"],
  rules: Rules,
): FakeVendor => ({
  name,
  kind: "siliconflow",
  model,
  config: { apiKey: key },
  basePath: "/v1",
  operations,
  source: "https://docs.siliconflow.cn/docs/api/images-generations-post",
  open: open(model, rules),
  refusals,
});

export const siliconflow: readonly FakeVendor[] = [
  vendor("siliconflow-kolors", "Kwai-Kolors/Kolors", ["generations", "edits"], {
    sized: true,
    batch: 4,
    reads: 1,
  }),
  vendor("siliconflow-qwen-image", "Qwen/Qwen-Image", ["generations"], {
    sized: true,
    batch: 1,
    reads: 1,
  }),
  vendor("siliconflow-qwen-image-edit", "Qwen/Qwen-Image-Edit-2509", ["edits"], {
    sized: false,
    batch: 1,
    reads: 3,
  }),
];
