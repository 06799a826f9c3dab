/** Fake of MiniMax: every response has the status 200; `base_resp` holds the error. */

import { words } from "../../words.ts";
import { type FakeVendor, jsonOf, type VendorResponse } from "../image-vendor.ts";
import { toBase64 } from "./data-url.ts";

const key = "sk-api-minimaxminimax0123456789";

const baseResponse = (status_code: number, status_msg: string): VendorResponse => ({
  body: { id: "", data: null, base_resp: { status_code, status_msg } },
});

/** https://platform.minimax.io/docs/api-reference/image-generation-t2i */
const fields = words(`
  model prompt aspect_ratio width height response_format seed n prompt_optimizer aigc_watermark
  style subject_reference
`);

const ratios = ["1:1", "16:9", "4:3", "3:2", "2:3", "3:4", "9:16"];

const open =
  (model: string): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers, origin } = request;
    if (method !== "POST" || path !== "/v1/image_generation") {
      throw { status: 404, body: "404 page not found" };
    }
    if (headers.get("authorization") !== `Bearer ${key}`) {
      return baseResponse(
        1004,
        "login fail: Please carry the API secret key in the 'Authorization' field",
      );
    }
    const body = jsonOf(request, fields);
    const { prompt, aspect_ratio, width, height, n = 1, response_format = "url", style } = body;
    if (body.model !== model) return baseResponse(2013, "invalid params, unsupported model");
    if (typeof prompt !== "string" || prompt.length > 1500) {
      return baseResponse(2013, "invalid params, prompt");
    }
    if (!Number.isInteger(n) || Number(n) < 1 || Number(n) > 9)
      return baseResponse(2013, "invalid params, n");
    const edges = [width, height].filter((edge) => edge !== undefined).map(Number);
    const sized = edges.length === 2;
    const live = model === "image-01-live";
    const wrong = edges.some((edge) => edge < 512 || edge > 2048 || edge % 8 !== 0);
    if (edges.length === 1 || wrong || (sized && live)) {
      return baseResponse(
        2013,
        "invalid params, width and height must be multiples of 8 in [512, 2048]",
      );
    }
    const known = live ? ratios : [...ratios, "21:9"];
    if (aspect_ratio !== undefined && !known.includes(String(aspect_ratio))) {
      return baseResponse(2013, "invalid params, aspect_ratio");
    }
    const type = (style as { style_type?: string } | undefined)?.style_type;
    if (type !== undefined && (!live || !["漫画", "元气", "中世纪", "水彩"].includes(type))) {
      return baseResponse(2013, "invalid params, style");
    }
    const generated = await generator.generate(
      {
        prompt,
        n: Number(n),
        ...(sized && { size: edges.join("x") }),
        ...(aspect_ratio !== undefined && { aspect: String(aspect_ratio) }),
        ...(type !== undefined && { options: { style: type } }),
      },
      "jpeg",
    );
    return {
      body: {
        id: "03ff3cd0820949eb8a410056b5f21d38",
        data:
          response_format === "base64"
            ? { image_base64: generated.map(toBase64) }
            : { image_urls: generated.map((image) => generator.link(image, origin)) },
        metadata: { failed_count: "0", success_count: String(generated.length) },
        base_resp: { status_code: 0, status_msg: "success" },
      },
    };
  };

/** https://platform.minimax.io/docs/api-reference/errorcode */
const refusals: FakeVendor["refusals"] = [
  {
    kind: "upstream_credentials",
    ...baseResponse(
      1004,
      "login fail: Please carry the API secret key in the 'Authorization' field",
    ),
  },
  { kind: "upstream_credentials", ...baseResponse(2049, "invalid api key") },
  { kind: "model_not_found", ...baseResponse(2013, "invalid params, unsupported model") },
  {
    kind: "upstream_rate_limit",
    ...baseResponse(1002, "rate limit"),
    headers: { "retry-after": "5" },
  },
  { kind: "insufficient_quota", ...baseResponse(1008, "insufficient balance") },
  { kind: "moderation_blocked", ...baseResponse(1026, "input new_sensitive") },
  { kind: "moderation_blocked", ...baseResponse(1027, "output new_sensitive") },
  { kind: "upstream_rejected", ...baseResponse(2013, "invalid params, aspect_ratio") },
  { kind: "upstream_error", ...baseResponse(1000, "unknown error") },
  {
    kind: "moderation_blocked",
    body: {
      id: "03ff3cd0820949eb8a410056b5f21d38",
      data: { image_urls: [] },
      metadata: { failed_count: "1", success_count: "0" },
      base_resp: { status_code: 0, status_msg: "success" },
    },
  },
];

const vendor = (model: string): FakeVendor => ({
  name: `minimax-${model}`,
  kind: "minimax",
  model,
  config: { apiKey: key },
  basePath: "/v1",
  operations: ["generations"],
  source: "https://platform.minimax.io/docs/api-reference/image-generation-t2i",
  open: open(model),
  refusals,
});

export const minimax: readonly FakeVendor[] = [vendor("image-01"), vendor("image-01-live")];
