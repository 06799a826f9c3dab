/**
 * Fake of Together: width and height, source images in the same body, and `base64` for what the response calls
 * b64_json.
 */

import { words } from "../../words.ts";
import { type FakeVendor, jsonOf, type VendorResponse } from "../image-vendor.ts";
import { fromDataUrl, toBase64 } from "./data-url.ts";

const key = "tgp_v1_0123456789abcdefghijklmnopqrstuvwxyz";

const refusal = (
  status: number,
  message: string,
  code: string | null,
  type = "invalid_request_error",
): VendorResponse => ({
  status,
  body: { id: "oFake-0", error: { message, type, param: null, code } },
});

const wrongKey = refusal(
  401,
  "Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys.",
  "invalid_api_key",
);

const noModel = (model: unknown): VendorResponse =>
  refusal(
    404,
    `Unable to access model ${String(model)}. Please visit https://api.together.ai/models to view the list of supported models.`,
    "model_not_available",
  );

/** togethercomputer/openapi, /images/generations; the last three are from togethercomputer/skills, together-images. */
const fields = words(`
  prompt model steps image_url seed n height width negative_prompt response_format guidance_scale
  output_format image_loras reference_images disable_safety_checker guidance prompt_upsampling
`);

interface Rules {
  readonly model: string;
  /** The member that holds the images to edit. */
  readonly reads: "image_url" | "reference_images";
  readonly formats: boolean;
}

const open =
  ({ model, reads, formats }: Rules): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const { method, path, headers, origin } = request;
    if (headers.get("authorization") !== `Bearer ${key}`) throw wrongKey;
    if (method !== "POST" || path !== "/v1/images/generations") {
      throw refusal(404, "Not Found", null, "not_found");
    }
    const body = jsonOf(request, fields);
    if (body.model !== model) throw noModel(body.model);
    const { prompt, n = 1, width, height, response_format = "url", output_format } = body;
    if (typeof prompt !== "string") throw refusal(400, "Missing required field: prompt", null);
    if (!Number.isInteger(n) || Number(n) < 1 || Number(n) > 4) {
      throw refusal(400, "n must be between 1 and 4", null);
    }
    if (response_format !== "url" && response_format !== "base64") {
      throw refusal(400, "response_format must be one of base64, url", null);
    }
    if (output_format !== undefined && !formats) {
      throw refusal(400, "output_format is not supported for this model", null);
    }
    const format = output_format === "png" ? "png" : "jpeg";
    const images = editSources(body, reads);
    const generated = await generator.generate(
      {
        prompt,
        n: Number(n),
        ...(width !== undefined && { size: `${Number(width)}x${Number(height)}` }),
        ...(output_format !== undefined && { options: { output_format } }),
        ...(images.length > 0 && { images }),
      },
      format,
    );
    return {
      body: {
        id: "oFuwv7Y-2kFHot-99170ebf9e84e0ce-SJC",
        model,
        object: "list",
        // Not in order: each has its own index.
        data: generated
          .map((image, index) => ({
            index,
            ...(response_format === "base64"
              ? { b64_json: toBase64(image), type: "b64_json" }
              : { url: generator.link(image, origin), type: "url" }),
            timings: { inference: 0.799 },
          }))
          .toReversed(),
      },
    };
  };

function editSources(body: Record<string, unknown>, reads: Rules["reads"]): Uint8Array[] {
  const { image_url, reference_images } = body;
  const other = reads === "image_url" ? reference_images : image_url;
  if (other !== undefined) throw refusal(400, `this model reads ${reads}`, null);
  const sources = reads === "image_url" ? [image_url] : ((reference_images ?? []) as unknown[]);
  return sources
    .filter((source) => source !== undefined)
    .map((source) => fromDataUrl(source, refusal(400, "Failed to load the image", null)));
}

const refusals: FakeVendor["refusals"] = [
  { kind: "upstream_credentials", ...wrongKey },
  { kind: "model_not_found", ...noModel("black-forest-labs/FLUX.9") },
  {
    kind: "moderation_blocked",
    ...refusal(422, "NSFW content detected in the generated image", null),
  },
  {
    kind: "insufficient_quota",
    ...refusal(402, "Credit limit exceeded, please navigate to billing", "credit_limit_exceeded"),
  },
  {
    kind: "upstream_rate_limit",
    ...refusal(429, "You have reached the rate limit for this model", null, "rate_limit"),
    headers: { "retry-after": "6" },
  },
  { kind: "upstream_rejected", ...refusal(400, "steps must be between 1 and 4", null) },
  { kind: "upstream_overloaded", ...refusal(503, "Engine overloaded", null, "overloaded") },
];

const vendor = (name: string, operations: FakeVendor["operations"], rules: Rules): FakeVendor => ({
  name,
  kind: "together",
  model: rules.model,
  config: { apiKey: key },
  basePath: "/v1",
  operations,
  source:
    "https://github.com/togethercomputer/openapi and togethercomputer/skills, together-images",
  open: open(rules),
  refusals,
});

export const together: readonly FakeVendor[] = [
  vendor("together-flux-2", ["generations", "edits"], {
    model: "black-forest-labs/FLUX.2-pro",
    reads: "reference_images",
    formats: true,
  }),
  vendor("together-kontext", ["generations", "edits"], {
    model: "black-forest-labs/FLUX.1-kontext-pro",
    reads: "image_url",
    formats: false,
  }),
  vendor("together-schnell", ["generations"], {
    model: "black-forest-labs/FLUX.1-schnell",
    reads: "reference_images",
    formats: false,
  }),
];
