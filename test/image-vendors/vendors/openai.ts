/** OpenAI itself, by two families of its models, and a server that imitates it. */

import type { PictureVendor, VendorRequest, VendorResponse } from "../image-vendor.ts";
import { imitationRefusals, openaiRefusals } from "./openai-refusals.ts";
import { edits, generations, type Speech } from "./openai-server.ts";

const key = "sk-openai-4f3e2d1c0b9a8877";

const itself: Speech = { strict: true, key };
const imitation: Speech = { strict: false, key };

const open =
  (speech: Speech): PictureVendor["open"] =>
  (studio) =>
  async (request) => {
    const path = request.path.replace(/\?.*$/, "");
    if (request.method === "POST" && path === "/v1/images/generations") {
      return generations(request, studio, speech);
    }
    if (request.method === "POST" && path === "/v1/images/edits") {
      return edits(request, studio, speech);
    }
    throw nowhere(request);
  };

const nowhere = ({ method, path }: VendorRequest): VendorResponse => ({
  status: 404,
  body: {
    error: {
      message: `Invalid URL (${method} ${path})`,
      type: "invalid_request_error",
      param: null,
      code: null,
    },
  },
});

export const openai: readonly PictureVendor[] = [
  {
    name: "openai-gpt-image",
    kind: "openai",
    model: "gpt-image-1.5",
    config: { apiKey: key },
    basePath: "/v1",
    operations: ["generations", "edits"],
    source: "https://github.com/openai/openai-openapi/blob/master/openapi.yaml",
    open: open(itself),
    refusals: openaiRefusals("gpt-image-1.5"),
  },
  {
    name: "openai-dall-e-3",
    kind: "openai",
    model: "dall-e-3",
    config: { apiKey: key },
    basePath: "/v1",
    operations: ["generations"],
    source: "https://github.com/openai/openai-openapi/blob/master/openapi.yaml",
    open: open(itself),
    refusals: openaiRefusals("dall-e-3"),
  },
  {
    name: "openai-compatible",
    kind: "openai-compatible",
    model: "house-painter-1",
    config: { apiKey: key },
    basePath: "/v1",
    operations: ["generations", "edits"],
    source: "https://github.com/openai/openai-openapi/blob/master/openapi.yaml, read leniently",
    open: open(imitation),
    refusals: imitationRefusals,
  },
];
