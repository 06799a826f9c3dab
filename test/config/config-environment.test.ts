/**
 * A provider's key in the environment provisions its upstream and its known models, unless the file disables that.
 */
import { describe, expect, test } from "bun:test";
import { fromEnvironment, ollamaUrl } from "../../server/config/sources/environment-source.ts";
import { providers, variablesOf } from "../../server/config/sources/providers.ts";
import { builtInUpstreams } from "../../server/config/sources/provisioned-upstreams.ts";
import { catalogModels } from "../../server/upstream/catalog/served-models.ts";
import { isShutDown, shutdownDateOf } from "../../server/upstream/catalog/shutdowns/index.ts";
import { kinds } from "../../server/upstream/kinds.ts";

const modelIds = (env: Record<string, string>) =>
  fromEnvironment(env).upstreams.flatMap(({ models }) => models.map(({ id }) => id));
const warnings = (env: Record<string, string>) =>
  fromEnvironment(env).warnings.map(({ message }) => message);
const azure = { AZURE_OPENAI_API_KEY: "k", AZURE_OPENAI_ENDPOINT: "https://z.openai.azure.com/" };

test("every provider of the table has an adapter and known models, and no variable belongs to two providers", () => {
  for (const { kind } of providers) {
    expect(kinds.has(kind)).toBe(true);
    expect(catalogModels[kind]?.length).toBeGreaterThan(0);
  }
  const variables = providers.flatMap(variablesOf);
  expect(new Set(variables).size).toBe(variables.length);
  for (const kind of Object.keys(catalogModels)) expect(kinds.has(kind)).toBe(true);
});

test("each provider's variables create its upstream, at its base URL, with its models", () => {
  for (const provider of providers) {
    const needs = kinds.get(provider.kind)?.needs ?? [];
    const needed = Object.entries(provider.options ?? {}).flatMap(([option, name]) =>
      needs.includes(option) ? [name] : [],
    );
    const env = Object.fromEntries(
      variablesOf(provider)
        .filter((name) => [provider.apiKey?.[0], provider.baseUrl, ...needed].includes(name))
        .map((name) => [name, name === provider.baseUrl ? "http://there:1" : "secret"]),
    );
    const { upstreams: provided, warnings: none } = fromEnvironment(env);
    expect(none).toEqual([]);
    expect(provided).toHaveLength(1);
    expect(provided[0]?.upstream).toMatchObject({ id: provider.kind, kind: provider.kind });
    expect(provided[0]?.upstream.apiKey).toBe(provider.apiKey ? "secret" : undefined);
    expect(provided[0]?.models.map(({ name }) => name)).toEqual(
      (catalogModels[provider.kind] ?? []).map(({ id }) => id),
    );
  }
});

test("each of Google's names for the key works, and the first that is set is used", () => {
  for (const name of ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"])
    expect(fromEnvironment({ [name]: "k" }).upstreams[0]?.upstream.apiKey).toBe("k");
  const both = fromEnvironment({ GOOGLE_API_KEY: "b", GEMINI_API_KEY: "a" });
  expect(both.upstreams[0]?.upstream.apiKey).toBe("a");
});

test("OPENAI_BASE_URL sets the base URL of OpenAI", () => {
  const there = fromEnvironment({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://proxy/v1/" });
  expect(there.upstreams[0]?.upstream.baseUrl).toBe("http://proxy/v1");
});

test("retired models are not offered", () => {
  for (const gone of ["dall-e-2", "dall-e-3", "gpt-image-1"])
    expect(modelIds({ OPENAI_API_KEY: "k" })).not.toContain(gone);
});

test("a model that ends within weeks is not offered, and its successor is", () => {
  const offered = modelIds({ OPENAI_API_KEY: "k", OPENROUTER_API_KEY: "k" }).join(" ");
  expect(offered).not.toMatch(/gpt-image-1|chatgpt-image/);
  expect(offered).toContain("gpt-image-2.6-flare");
  const end = Date.parse("2026-12-02");
  for (const [kind, models] of Object.entries(catalogModels))
    for (const { id } of models) {
      const shutdown = shutdownDateOf(id, kind);
      expect(`${id}: ${shutdown !== undefined && isShutDown(shutdown, end)}`).toBe(`${id}: false`);
    }
});

describe("a model that was shut down", () => {
  const idsAt = (now: string, env: Record<string, string>) =>
    fromEnvironment(env, Date.parse(now)).upstreams.flatMap(({ models }) =>
      models.map(({ id }) => id),
    );

  test("is provisioned from the environment until its shutdown date, and not from then on", () => {
    expect(idsAt("2026-12-15T23:59:59Z", azure)).toContain("gpt-image-1.5");
    expect(idsAt("2026-12-16T00:00:00Z", azure)).not.toContain("gpt-image-1.5");
    expect(idsAt("2026-12-16T00:00:00Z", azure)).toContain("gpt-image-2");
  });

  test("is provisioned if the operator lists its deployment", () => {
    const named = { ...azure, AZURE_OPENAI_EMBEDDING_DEPLOYMENT: "text-embedding-3-small" };
    expect(idsAt("2029-01-01", named)).toEqual(["text-embedding-3-small"]);
    expect(idsAt("2029-01-01", azure)).not.toContain("text-embedding-3-small");
  });
});

/** Every variable of every provider, except lists of deployments. */
const everyVariable = Object.fromEntries(
  providers.flatMap(({ apiKey = [], baseUrl, options = {} }) => [
    ...[...apiKey, ...Object.values(options)].map((name) => [name, "k"]),
    ...(baseUrl ? [[baseUrl, "http://h:1"]] : []),
  ]),
);

describe("after 2026-12-01, with the key of every provider", () => {
  const provisionedAt = (now: string) =>
    fromEnvironment(everyVariable, Date.parse(now)).upstreams.flatMap(({ upstream, models }) =>
      models.map(({ name, kind }) => ({ name, at: upstream.kind, purpose: kind })),
    );
  const later = ["2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z", "2027-01-01T00:00:00Z"];

  /** A model of another vendor, as `openai/gpt-image-2`, ends with that vendor. */
  const owners: Readonly<Record<string, string>> = {
    openai: "openai",
    google: "gemini",
    cohere: "cohere",
    "x-ai": "xai",
  };
  const endOf = ({ name, at }: { name: string; at: string }) => {
    const [owner = "", model = ""] = name.split("/");
    return shutdownDateOf(name, at) ?? shutdownDateOf(model, owners[owner] ?? "");
  };

  test.each(later)("no model is provisioned that has ended at its vendor: %s", (now) => {
    const provisioned = provisionedAt(now);
    expect(provisioned.length).toBeGreaterThan(100);
    const ended = provisioned.filter((model) => {
      const end = endOf(model);
      return end && isShutDown(end, Date.parse(now));
    });
    expect(ended).toEqual([]);
  });

  test.each(later)("every provider keeps a model of each purpose: %s", (now) => {
    const purposes = (time: string) =>
      new Set(provisionedAt(time).map(({ at, purpose }) => `${at} ${purpose}`));
    expect(purposes(now)).toEqual(purposes("2026-11-18T00:00:00Z"));
  });
});

describe("of two providers with a model of one name", () => {
  test("the first of the table has the plain id, the other has its provider before a slash", () => {
    const ids = modelIds({ ...azure, OPENAI_API_KEY: "k" });
    expect(ids).toContain("text-embedding-3-small");
    expect(ids).toContain("azure/text-embedding-3-small");
    expect(new Set(ids).size).toBe(ids.length);
    expect(modelIds({ SILICONFLOW_API_KEY: "k", DEEPINFRA_API_KEY: "k" })).toContain(
      "siliconflow/BAAI/bge-m3",
    );
  });
  test("the models of a single provider have plain ids", () => {
    expect(modelIds(azure)).toContain("text-embedding-3-small");
  });
  test("all provisioned ids are unique", () => {
    const ids = modelIds(everyVariable);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe(Object.values(catalogModels).flat().length);
  });
});

describe("Azure", () => {
  test("with a part of its variables causes a warning", () => {
    expect(warnings({ AZURE_OPENAI_API_KEY: "k" })).toEqual([
      "AZURE_OPENAI_API_KEY is set, but AZURE_OPENAI_ENDPOINT is not: the upstream azure is not created",
    ]);
    expect(warnings({ AZURE_OPENAI_ENDPOINT: "https://z" })).toEqual([
      "AZURE_OPENAI_ENDPOINT is set, but AZURE_OPENAI_API_KEY is not: the upstream azure is not created",
    ]);
    expect(fromEnvironment({ AZURE_OPENAI_API_KEY: "k" }).upstreams).toEqual([]);
  });
  test("serves the listed deployments, with the dimensions of deployments that are named after a model", () => {
    const { upstreams: provided } = fromEnvironment({
      ...azure,
      AZURE_OPENAI_API_VERSION: "2025-04-01-preview",
      AZURE_OPENAI_EMBEDDING_DEPLOYMENT: "our-vectors, text-embedding-3-large,,",
    });
    expect(provided[0]?.upstream.options).toEqual({ apiVersion: "2025-04-01-preview" });
    expect(provided[0]?.models).toEqual([
      { id: "our-vectors", kind: "embedding", name: "our-vectors" },
      {
        id: "text-embedding-3-large",
        kind: "embedding",
        dimensions: 3072,
        name: "text-embedding-3-large",
      },
    ]);
  });
});

test("Cloudflare is provisioned only with the account beside the token", () => {
  const token = { CLOUDFLARE_API_TOKEN: "k" };
  expect(warnings(token)).toEqual([
    "CLOUDFLARE_API_TOKEN is set, but CLOUDFLARE_ACCOUNT_ID is not: the upstream cloudflare is not created",
  ]);
  const { upstreams: provided } = fromEnvironment({ ...token, CLOUDFLARE_ACCOUNT_ID: "a1" });
  expect(provided[0]?.upstream.options).toEqual({ accountId: "a1" });
});

test("an empty variable counts as unset, and an unusable one causes a warning without its value", () => {
  expect(fromEnvironment({ OPENAI_API_KEY: "  ", OLLAMA_HOST: "" })).toEqual({
    upstreams: [],
    warnings: [],
  });
  for (const env of [
    { OPENAI_API_KEY: "hunter 2" },
    { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "hunter" },
    { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://u:hunter@h" },
    { OLLAMA_HOST: "http://hunter:x" },
    { OLLAMA_HOST: "http://" },
    { ...azure, AZURE_OPENAI_IMAGE_DEPLOYMENT: "hunter 2" },
  ]) {
    expect(fromEnvironment(env).upstreams).toEqual([]);
    expect(warnings(env)).toHaveLength(1);
    expect(warnings(env).join()).not.toContain("hunter");
  }
  expect(fromEnvironment({ OPENAI_API_KEY: " k\n" }).upstreams[0]?.upstream.apiKey).toBe("k");
});

test("OLLAMA_HOST is read as Ollama reads it, and an address to listen on means this machine", () => {
  const cases = {
    "127.0.0.1": "http://127.0.0.1:11434",
    "0.0.0.0": "http://127.0.0.1:11434",
    "0.0.0.0:8080": "http://127.0.0.1:8080",
    ":8080": "http://127.0.0.1:8080",
    "[::]:8080": "http://127.0.0.1:8080",
    "[::1]": "http://[::1]:11434",
    "gpu-box": "http://gpu-box:11434",
    "gpu-box:80": "http://gpu-box",
    "http://gpu-box": "http://gpu-box",
    "https://ollama.example/x/": "https://ollama.example/x",
    "http://gpu-box:11434/v1": "http://gpu-box:11434",
    "HTTPS://ollama.example": "https://ollama.example",
  };
  for (const [host, url] of Object.entries(cases)) expect(ollamaUrl(host)).toBe(url);
});

test("the built-in models have a description", () => {
  const all = builtInUpstreams;
  expect(all.map(({ upstream: { id, kind } }) => [id, kind])).toEqual([
    ["vexel-minilm", "minilm"],
    ["vexel-sketch", "sketch"],
  ]);
  expect(all.flatMap(({ models }) => models)).toMatchObject([
    { id: "all-minilm-l6-v2", kind: "embedding", dimensions: 384 },
    { id: "vexel-sketch", kind: "image" },
  ]);
  expect(all[1]?.models[0]?.description).toContain("not a neural model");
});
