/** DigitalOcean: OpenAI's generations, with an `n` that must be there; it has no edits. */

import { words } from "../../words.ts";
import { type FakeVendor, jsonOf, type VendorResponse } from "../image-vendor.ts";
import { present } from "./job-server.ts";

const key = "sk-do-0123456789abcdefghijklmnopqrstuvwxyz";
const model = "openai-gpt-image-2";

const error = (status: number, type: string, message: string): VendorResponse => ({
  status,
  body: { error: { message, type } },
});

const invalid = (message: string): VendorResponse => error(400, "invalid_request_error", message);

const options = words("quality background moderation output_format output_compression user");
const fields = [...options, "prompt", "model", "n", "size", "stream", "partial_images"];

const base64 = (image: Uint8Array): string => Buffer.from(image).toString("base64");
const created = 1_713_833_628;
const usage = {
  total_tokens: 1066,
  input_tokens: 10,
  output_tokens: 1056,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
};

const open: FakeVendor["open"] = (generator) => async (request) => {
  const { method, path, headers } = request;
  if (headers.get("authorization") !== `Bearer ${key}`) {
    throw error(401, "unauthorized", "Unable to authenticate you");
  }
  if (method !== "POST" || path !== "/v1/images/generations") {
    throw error(404, "not_found", "Not Found");
  }
  const body = jsonOf(request, fields);
  const { prompt, n, size, stream = false, partial_images = 0 } = body;
  if (body.model !== model) throw error(404, "not_found", "model not found");
  if (typeof prompt !== "string" || prompt === "") throw invalid("prompt is required");
  if (!Number.isInteger(n) || Number(n) < 1 || Number(n) > 10) throw invalid("n is required");
  if (stream === true && Number(partial_images) <= 0) {
    throw invalid("partial_images must be greater than 0 when stream is true");
  }
  const generated = await generator.generate(
    {
      prompt,
      n: Number(n),
      ...(typeof size === "string" && size !== "auto" && { size }),
      options: present(Object.fromEntries(options.map((name) => [name, body[name]]))),
    },
    (body.output_format ?? "png") as "png" | "jpeg" | "webp",
  );
  if (stream === true) return streamed(generated, Number(partial_images));
  return {
    body: { created, data: generated.map((image) => ({ b64_json: base64(image) })), usage },
  };
};

function streamed(generated: readonly Uint8Array[], partials: number): VendorResponse {
  const frame = (payload: { readonly type: string; readonly [member: string]: unknown }): string =>
    `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`;
  const frames = generated.flatMap((image) => [
    ...Array.from({ length: partials }, (_, at) =>
      frame({
        type: "image_generation.partial_image",
        b64_json: base64(image),
        created_at: created,
        partial_image_index: at,
      }),
    ),
    frame({
      type: "image_generation.completed",
      b64_json: base64(image),
      created_at: created,
      usage,
    }),
  ]);
  return { headers: { "content-type": "text/event-stream" }, body: frames.join("") };
}

export const digitalocean: readonly FakeVendor[] = [
  {
    name: "digitalocean",
    kind: "digitalocean",
    model,
    config: { apiKey: key },
    basePath: "/v1",
    operations: ["generations"],
    source:
      "https://github.com/digitalocean/openapi, specification/resources/inference, 2026-08-07",
    open,
    refusals: [
      {
        kind: "upstream_credentials",
        ...error(401, "unauthorized", "Unable to authenticate you"),
      },
      { kind: "upstream_rejected", ...invalid("n is required") },
      {
        kind: "upstream_rate_limit",
        ...error(429, "rate_limit_error", "API rate limit exceeded"),
      },
      { kind: "upstream_error", ...error(500, "server_error", "Unexpected server-side error") },
    ],
  },
];
