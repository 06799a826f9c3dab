/**
 * Hugging Face's router: the kinds of its providers, with the base URLs of docs/upstreams.md, send requests where
 * huggingface_hub 2.4.0 sends them (inference/_providers: `https://router.huggingface.co/{provider}` and the route).
 */
import { expect, test } from "bun:test";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { GenerationQuery, Target } from "../../server/upstream/contract.ts";
import { embeddingsQuery } from "../laws/adapter-responses.ts";

const router = "https://router.huggingface.co";
const targetOf = (kind: string, path: string): Target => ({
  upstream: {
    id: kind,
    kind,
    baseUrl: `${router}${path}`,
    apiKey: "hf_0123456789",
    headers: {},
    options: {},
  },
  model: "owner/model",
});
const image: GenerationQuery = {
  model: "m",
  prompt: "an otter",
  stream: false,
  options: {},
  extraFields: {},
};

test.each([
  ["together", "/together/v1", "/together/v1/embeddings"],
  ["deepinfra", "/deepinfra/v1/openai", "/deepinfra/v1/openai/embeddings"],
  ["scaleway", "/scaleway/v1", "/scaleway/v1/embeddings"],
])("embeddings of %s are requested with the token", (kind, basePath, path) => {
  const target = targetOf(kind, basePath);
  const request = adapters.get(kind)?.embeddings?.toUpstream(embeddingsQuery(1), target);
  expect(request?.url).toBe(`${router}${path}`);
  expect(request?.headers.authorization).toBe("Bearer hf_0123456789");
});

test.each([
  ["together", "/together/v1", "/together/v1/images/generations"],
  ["nscale", "/nscale/v1", "/nscale/v1/images/generations"],
])("images of %s are requested with the token", (kind, basePath, path) => {
  const request = adapters.get(kind)?.generations?.toUpstream(image, targetOf(kind, basePath));
  expect(request?.url).toBe(`${router}${path}`);
  expect(request?.headers.authorization).toBe("Bearer hf_0123456789");
});
