/** Fakes of OpenAI, with two model families, and of a compatible server. */

import type { FakeVendor, VendorRequest, VendorResponse } from "../image-vendor.ts";
import { imitationRefusals, openaiRefusals } from "./openai-refusals.ts";
import { type Dialect, edits, generations } from "./openai-server.ts";

const key = "sk-openai-4f3e2d1c0b9a8877";

const itself: Dialect = { strict: true, key };
const imitation: Dialect = { strict: false, key };

const open =
  (dialect: Dialect): FakeVendor["open"] =>
  (generator) =>
  async (request) => {
    const path = request.path.replace(/\?.*$/, "");
    if (request.method === "POST" && path === "/v1/images/generations") {
      return generations(request, generator, dialect);
    }
    if (request.method === "POST" && path === "/v1/images/edits") {
      return edits(request, generator, dialect);
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

export const openai: readonly FakeVendor[] = [
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
    // Part of golden files, so it is not renamed: goldens must stay comparable with earlier states.
    model: "house-painter-1",
    config: { apiKey: key },
    basePath: "/v1",
    operations: ["generations", "edits"],
    source: "https://github.com/openai/openai-openapi/blob/master/openapi.yaml, read leniently",
    open: open(imitation),
    refusals: imitationRefusals,
  },
];
