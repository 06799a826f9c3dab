/** Fake of xAI: OpenAI's paths with aspect ratios, edits in JSON only, and the price in every response. */

import { words } from "../../words.ts";
import {
  type FakeVendor,
  jsonOf,
  rejectUnknownFields,
  type VendorResponse,
} from "../image-vendor.ts";
import { fromDataUrl, toBase64 } from "./data-url.ts";

const key = "xai-0123456789abcdefghijklmnopqrstuvwxyz";
const team = "7f0e6b1c-3b0e-4c3f-9a3d-2d3b8a0f6a11";

const refusal = (status: number, code: string, error: string): VendorResponse => ({
  status,
  body: { code, error },
});

const invalid = (error: string): VendorResponse =>
  refusal(400, "Client specified an invalid argument", error);

const noModel = (model: unknown): VendorResponse =>
  refusal(
    404,
    "Some requested entity was not found",
    `The model ${String(model)} does not exist or your team ${team} does not have access to it.`,
  );

const wrongKey = invalid(
  "Incorrect API key provided: xa***yz. You can obtain an API key from https://console.x.ai.",
);

const fields = words(`
  model prompt n aspect_ratio resolution quality response_format user storage_options deferred
  output
`);

const ratios = /^(1:1|3:4|4:3|9:16|16:9|2:3|3:2|9:19\.5|19\.5:9|9:20|20:9|1:2|2:1|auto)$/;

interface Rules {
  readonly model: string;
  readonly qualities: readonly string[];
}

const open =
  ({ model, qualities }: Rules): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers, origin } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) throw wrongKey;
    const editing = path === "/v1/images/edits";
    if (method !== "POST" || !(editing || path === "/v1/images/generations")) {
      throw { status: 404, body: "" };
    }
    if (headers.get("content-type") !== "application/json") throw { status: 415, body: "" };
    const body = jsonOf(request, editing ? [...fields, "image", "images"] : fields);
    if (body.model !== model) throw noModel(body.model);
    const { prompt, n = 1, aspect_ratio, quality, resolution, response_format = "url" } = body;
    if (typeof prompt !== "string") throw invalid("missing field `prompt`");
    if (!Number.isInteger(n) || Number(n) < 1 || Number(n) > 10) {
      throw invalid("n must be between 1 and 10");
    }
    if (aspect_ratio !== undefined && !ratios.test(String(aspect_ratio))) {
      throw invalid("unknown variant of `aspect_ratio`");
    }
    if (resolution !== undefined && !["1k", "2k"].includes(String(resolution))) {
      throw invalid("unknown variant of `resolution`");
    }
    if (quality !== undefined && !qualities.includes(String(quality))) {
      throw invalid("quality is not supported by this model");
    }
    const images = editing ? editSources(body) : undefined;
    const generated = await generator.generate(
      {
        prompt,
        n: Number(n),
        ...(typeof aspect_ratio === "string" && { aspect: aspect_ratio }),
        ...(quality !== undefined && { options: { quality } }),
        ...(images && { images }),
      },
      "jpeg",
    );
    return {
      body: {
        data: generated.map((image) => ({
          ...(response_format === "b64_json"
            ? { b64_json: toBase64(image) }
            : { url: generator.link(image, origin) }),
          mime_type: "image/jpeg",
          revised_prompt: "",
        })),
        usage: { cost_in_usd_ticks: 200_000_000 * Number(n) },
      },
    };
  };

/** One as `image`, up to three as `images`, never both. */
function editSources({ image, images }: Record<string, unknown>): Uint8Array[] {
  const sources = image === undefined ? (images as unknown[]) : [image];
  if (!Array.isArray(sources) || (image !== undefined && images !== undefined)) {
    throw invalid("exactly one of `image` and `images` must be set");
  }
  if (sources.length < 1 || sources.length > 3) throw invalid("at most 3 images are supported");
  return sources.map((source) => {
    const { type, url, ...others } = source as Record<string, unknown>;
    rejectUnknownFields(others, []);
    if (type !== "image_url") throw invalid("unknown variant of `type`");
    return fromDataUrl(url, invalid("Failed to decode the image"));
  });
}

/** As recorded by its users; docs.x.ai/developers/debugging has the statuses. */
const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", ...wrongKey },
  { kind: "model_not_found", ...noModel("grok-imagine-image-9") },
  {
    kind: "moderation_blocked",
    status: 400,
    body: {
      code: "imagine:content-moderated",
      error: "Generated image rejected by content moderation.",
      usage: { cost_in_usd_ticks: 900_000_000 },
    },
  },
  {
    kind: "insufficient_quota",
    ...refusal(
      403,
      "The caller does not have permission to execute the specified operation",
      `Your team ${team} has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.`,
    ),
  },
  {
    kind: "insufficient_quota",
    ...refusal(
      429,
      "Some resource has been exhausted",
      `Your team ${team} has either used all available credits or reached its monthly spending limit.`,
    ),
  },
  {
    kind: "upstream_rate_limit",
    headers: { "retry-after": "3" },
    ...refusal(
      429,
      "Some resource has been exhausted",
      `Too many requests for team ${team} and model grok-imagine-image. Your team's rate limit is 5 requests per second.`,
    ),
  },
  { kind: "upstream_rejected", ...invalid("n must be between 1 and 10") },
  { kind: "upstream_overloaded", status: 503, body: { error: "Service temporarily unavailable" } },
];

const vendor = (name: string, rules: Rules): FakeVendor => ({
  name,
  kind: "xai",
  model: rules.model,
  config: { apiKey: key },
  basePath: "/v1",
  operations: ["generations", "edits"],
  source: "https://docs.x.ai/developers/rest-api-reference/inference/images",
  open: open(rules),
  refusals,
});

export const xai: readonly FakeVendor[] = [
  vendor("xai-imagine", { model: "grok-imagine-image", qualities: [] }),
  vendor("xai-imagine-2", { model: "grok-imagine-image-2.0", qualities: ["low", "medium"] }),
];
