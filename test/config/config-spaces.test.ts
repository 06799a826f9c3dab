/** The targets of an embedding model have one vector space, by the catalog or by the author's declaration. */
import { describe, expect, test } from "bun:test";
import { loadYaml, problemsOf } from "./load-yaml.ts";

const upstreams = `upstreams:
  - { id: openai, kind: openai, apiKey: k }
  - { id: azure, kind: azure, apiKey: k, baseUrl: "https://z.openai.azure.com" }
  - { id: azure-eu, kind: azure, apiKey: k, baseUrl: "https://y.openai.azure.com" }
  - { id: openrouter, kind: openrouter, apiKey: k }
  - { id: gpu, kind: vllm, baseUrl: "http://h" }
  - { id: ollama, kind: ollama }
  - { id: zhipu, kind: zhipu, apiKey: k }
  - { id: cloudflare, kind: cloudflare, apiKey: k, accountId: a }
`;

/** Targets as `upstream model`. */
function fileWith(targets: readonly string[], rest: string): string {
  const rows = targets.map((target) => {
    const [upstream, model] = target.split(" ");
    return `      - { upstream: ${upstream}, model: "${model}" }\n`;
  });
  return `${upstreams}models:\n  - id: m\n    kind: embedding\n${rest}    targets:\n${rows.join("")}`;
}
function refused(targets: readonly string[], rest = "", env: Record<string, string> = {}): string {
  const problem = problemsOf(fileWith(targets, rest), { env });
  expect(problem.split("\n")).toHaveLength(1);
  return problem;
}
const model = (targets: readonly string[], rest = "") =>
  loadYaml(fileWith(targets, rest)).snapshot.models.get("m");
const warnings = (targets: readonly string[], rest = ""): readonly string[] =>
  loadYaml(fileWith(targets, rest)).warnings;
const vouched = "    sameSpace: true\n";

describe("one vector space", () => {
  test("a model has one vector space under the names of OpenAI, Azure and OpenRouter", () => {
    const three = [
      "openai text-embedding-3-small",
      "azure text-embedding-3-small",
      "openrouter openai/text-embedding-3-small",
    ];
    expect(model(three)).toMatchObject({ space: "text-embedding-3-small", dimensions: 1536 });
  });

  test("owner, case, :latest and alias of a name do not change its vector space", () => {
    const space = (...targets: string[]) => model(targets)?.space;
    expect(space("gpu Qwen/Qwen3-Embedding-8B", "openrouter qwen/qwen3-embedding-8b")).toBe(
      "qwen3-embedding-8b",
    );
    expect(space("ollama nomic-embed-text:latest", "gpu nomic-ai/nomic-embed-text-v1.5")).toBe(
      "nomic-embed-text-v1.5",
    );
    expect(space("gpu Somebody/Her-Model", "ollama her-model:latest")).toBe("her-model");
  });

  test("a file that mixes two is refused with both targets, both vector spaces and the fix", () => {
    const message = refused(["openai text-embedding-3-small", "gpu BAAI/bge-m3"]);
    expect(message).toEndWith(
      'models[0].targets[1].model: "text-embedding-3-small" at "openai" (vector space "text-embedding-3-small") ' +
        'and "BAAI/bge-m3" at "gpu" (vector space "bge-m3") are different models, and their vectors cannot be ' +
        "compared; set sameSpace: true on the model if they are one model under two names",
    );
  });

  test("revisions are different models, however similar their names are", () => {
    for (const [a, b] of [
      ["text-embedding-ada-002", "text-embedding-3-small"],
      ["jina-embeddings-v3", "jina-embeddings-v4"],
      ["nomic-embed-text-v1", "nomic-embed-text"],
      ["gemini-embedding-2-preview", "gemini-embedding-2"],
    ])
      expect(refused([`gpu ${a}`, `gpu ${b}`])).toContain("are different models");
  });

  test("an Azure deployment with a name of its own has a vector space of its own", () => {
    expect(refused(["openai text-embedding-3-small", "azure our-vectors"])).toContain(
      '(vector space "azure/our-vectors")',
    );
    // Even if another upstream has a model of that name.
    expect(refused(["gpu our-vectors", "azure our-vectors"])).toContain("are different models");
    expect(model(["azure our-vectors", "azure-eu our-vectors"])?.space).toBe("azure/our-vectors");
  });

  test("models of the same name at vendors that compute vectors differently have different vector spaces", () => {
    expect(
      refused(["gpu BAAI/bge-base-en-v1.5", "cloudflare @cf/baai/bge-base-en-v1.5"]),
    ).toContain('(vector space "bge-base-en-v1.5-mean")');
  });

  test("a value from the environment is not in the message", () => {
    const hidden = refused(["openai text-embedding-3-small", `gpu $\{NAME}`], "", {
      NAME: "Hunter-Two",
    });
    expect(hidden).toContain("(a hidden value) at");
    expect(hidden.toLowerCase()).not.toContain("hunter");
  });
});

describe("sameSpace", () => {
  test("is accepted, and no other model shares the space", () => {
    const mixed = ["openai text-embedding-3-small", "azure our-vectors"];
    expect(model(mixed, vouched)?.space).toBe("vouched:m");
    expect(refused(mixed, "    sameSpace: false\n")).toContain("sameSpace: true");
  });

  test("changes nothing if the targets have the same vector space", () => {
    const twice = ["openai text-embedding-3-small", "azure text-embedding-3-small"];
    expect(model(twice, vouched)?.space).toBe("text-embedding-3-small");
  });
});

describe("the known model of the targets", () => {
  test("is the known model of the public model, if all targets agree", () => {
    expect(model(["openai text-embedding-3-large"])?.known).toMatchObject({
      name: "text-embedding-3-large",
      tokenizer: "cl100k_base",
    });
    expect(model(["gpu her-model"])).not.toHaveProperty("known");
    const mixed = model(["openai text-embedding-3-small", "azure our-vectors"], vouched);
    expect(mixed).not.toHaveProperty("known");
  });

  test("sets the dimensions, if all targets are known and agree and the file has none", () => {
    const dimensions = (targets: string[], rest = vouched) => model(targets, rest)?.dimensions;
    expect(dimensions(["openai text-embedding-3-small"])).toBe(1536);
    expect(dimensions(["openai text-embedding-3-small"], "    dimensions: 512\n")).toBe(512);
    expect(dimensions(["gpu voyage-4", "gpu voyage-4-lite"])).toBe(1024);
    expect(dimensions(["openai text-embedding-3-small", "gpu voyage-4"])).toBeUndefined();
    expect(dimensions(["openai text-embedding-3-small", "azure our-vectors"])).toBeUndefined();
    expect(dimensions(["gpu her-model"])).toBeUndefined();
  });

  test("depends on the kind of upstream if the name alone is not enough", () => {
    expect(model(["zhipu embedding-3"])).toMatchObject({ dimensions: 2048 });
    expect(model(["azure embedding-3"])).not.toHaveProperty("dimensions");
    expect(model(["vexel-minilm text-embedding-3-small"])).toMatchObject({
      space: "all-minilm-l6-v2",
      dimensions: 384,
    });
  });
});

test("every embedding model has a space, provisioned and built-in models too", () => {
  const env = { OPENAI_API_KEY: "k", MISTRAL_API_KEY: "k" };
  const { models } = loadYaml("", { env }).snapshot;
  for (const { kind, space } of models.values())
    expect(typeof space).toBe(kind === "embedding" ? "string" : "undefined");
  expect(models.get("all-minilm-l6-v2")?.space).toBe("all-minilm-l6-v2");
});

describe("a valid model that cannot serve any request gets a warning", () => {
  test("whose `dimensions` differ from the known model's", () => {
    const small = ["openai text-embedding-3-small"];
    const [warning, ...others] = warnings(small, "    dimensions: 512\n");
    expect(warning).toStartWith(
      'the model "m" has dimensions: 512, but text-embedding-3-small returns 1536 unless a request has dimensions',
    );
    expect(others).toEqual([]);
    expect(warnings(small, "    dimensions: 1536\n")).toEqual([]);
    expect(warnings(small)).toEqual([]);
  });

  test("except on a self-hosted server, which may shorten vectors", () => {
    expect(warnings(["gpu nomic-embed-text-v1.5"], "    dimensions: 256\n")).toEqual([]);
    expect(warnings(["gpu nomic-embed-text-v1.5"], "    dimensions: 1024\n")).toHaveLength(1);
    expect(warnings(["ollama all-minilm"], "    dimensions: 100\n")).toHaveLength(1);
    expect(warnings(["gpu somebody-elses"], "    dimensions: 100\n")).toEqual([]);
  });
});
