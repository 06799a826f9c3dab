/** A task type can be given in any vendor's terms, and is translated for each vendor. */

import { beforeEach, describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { fakeVector, type InjectedFault, startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";
import { embeddingResponse, jsonResponse } from "./upstream-response.ts";

const fake = startFake();
/** Kind, and a model that it has. */
const vendors = {
  cohere: "embed-v4.0",
  voyage: "voyage-3.5",
  jina: "jina-embeddings-v3",
  gemini: "gemini-embedding-001",
  nvidia: "nvidia/nv-embedqa-e5-v5",
  heroku: "cohere-embed-multilingual",
  openai: "text-embedding-3-small",
  together: "custom-embedding-1",
  vllm: "custom-embedding-1",
} as const;
type Kind = keyof typeof vendors;
const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "10000000" },
  yaml: `
upstreams:
${Object.keys(vendors)
  .map((kind) => `  - { id: ${kind}, kind: ${kind}, baseUrl: "${fake.url}", apiKey: sk-fake }`)
  .join("\n")}
models:
${Object.entries(vendors)
  .map(
    ([kind, model]) =>
      `  - { id: at-${kind}, kind: embedding, dimensions: 8, targets: [{ upstream: ${kind}, model: "${model}" }] }`,
  )
  .join("\n")}
  - { id: mixed, kind: embedding, sameSpace: true, targets: [{ upstream: voyage, model: a }, { upstream: together, model: b }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => fake.clear());
closeAfterAll(gateway, fake);

const vector = fakeVector("any", 8);
const packed = Buffer.from(vector.buffer).toString("base64");
const responses: Partial<Record<Kind, object>> = {
  cohere: { embeddings: { base64: [packed] }, meta: { billed_units: { input_tokens: 1 } } },
  gemini: { embedding: { values: Array.from(vector) } },
};
const vendorResponse = (kind: Kind): InjectedFault => {
  const response = responses[kind];
  return response ? jsonResponse(response) : embeddingResponse(vector);
};

let count = 0;
const embed = (kind: Kind, fields: object, input = `text ${count++}`): Promise<Response> => {
  fake.script(vendorResponse(kind));
  return gateway.post("/v1/embeddings", { model: `at-${kind}`, input, ...fields });
};

/** The task type in the upstream request, in the field of the vendor. */
function received(): unknown {
  const body = fake.requests.at(-1)?.json as Record<string, unknown>;
  return body.input_type ?? body.task ?? body.task_type ?? body.taskType;
}

const parameterHeaders = ({ headers }: Response): [string | null, string | null] => [
  headers.get("vexel-adapted"),
  headers.get("vexel-dropped"),
];

describe("one task type in the terms of every vendor", () => {
  const spellings = [
    { input_type: "search_query" },
    { input_type: "query" },
    { task_type: "RETRIEVAL_QUERY" },
    { task: "retrieval.query" },
  ];
  test.each<[Kind, string]>([
    ["cohere", "search_query"],
    ["voyage", "query"],
    ["jina", "retrieval.query"],
    ["gemini", "RETRIEVAL_QUERY"],
    ["nvidia", "query"],
    ["heroku", "search_query"],
  ])("is understood by %s, as %s", async (kind, word) => {
    for (const spelling of spellings) {
      const response = await embed(kind, spelling);
      expect(response.status, await response.text()).toBe(200);
      expect(received()).toBe(word);
      const [[field, value]] = Object.entries(spelling) as [[string, string]];
      const fields: Partial<Record<Kind, string>> = { jina: "task", gemini: "task_type" };
      const same = value === word && field === (fields[kind] ?? "input_type");
      expect(parameterHeaders(response)).toEqual([same ? null : field, null]);
    }
  });

  test.each<[Kind, object, string]>([
    ["cohere", { task: "retrieval.passage" }, "search_document"],
    ["cohere", { task_type: "CLUSTERING" }, "clustering"],
    ["voyage", { input_type: "search_document" }, "document"],
    ["jina", { task_type: "SEMANTIC_SIMILARITY" }, "text-matching"],
    ["jina", { input_type: "clustering" }, "separation"],
    ["gemini", { input_type: "passage" }, "RETRIEVAL_DOCUMENT"],
    ["gemini", { task: "text-matching" }, "SEMANTIC_SIMILARITY"],
    ["nvidia", { task_type: "RETRIEVAL_DOCUMENT" }, "passage"],
  ])("is sent to %s: %j as %s", async (kind, fields, word) => {
    expect((await embed(kind, fields)).status).toBe(200);
    expect(received()).toBe(word);
  });

  test("is passed on unchanged to a server that may support it", async () => {
    const response = await embed("vllm", { input_type: "whatever it likes" });
    expect(response.status).toBe(200);
    expect(received()).toBe("whatever it likes");
    expect(parameterHeaders(response)).toEqual([null, null]);
  });

  test("has a default for a vendor that requires one", async () => {
    await embed("nvidia", {});
    expect(received()).toBe("passage");
    await embed("cohere", {});
    expect(received()).toBe("search_document");
    await embed("voyage", {});
    expect(received()).toBeUndefined();
  });
});

describe("a task type without effect", () => {
  test.each<[Kind, string]>([
    ["openai", "input_type"],
    ["openai", "task_type"],
    ["together", "task"],
  ])(
    "is omitted at %s and the client is informed, for new and cached vectors: %s",
    async (kind, field) => {
      const text = `once ${kind} ${field}`;
      for (let round = 0; round < 2; round++) {
        const response = await embed(kind, { [field]: "search_query" }, text);
        expect(parameterHeaders(response)).toEqual([null, field]);
      }
      expect(fake.requests).toHaveLength(1);
      expect(received()).toBeUndefined();
    },
  );
});

describe("a task type that the vendor does not support", () => {
  test.each<[Kind, object, string, readonly string[]]>([
    ["voyage", { input_type: "clustering" }, "input_type", ["'query'", "'document'"]],
    ["nvidia", { task: "separation" }, "task", ["'query'", "'passage'"]],
    [
      "cohere",
      { task_type: "FACT_VERIFICATION" },
      "task_type",
      ["'search_query'", "'search_document'", "'classification'", "'clustering'"],
    ],
    ["jina", { input_type: "nonsense" }, "input_type", ["'retrieval.query'", "'separation'"]],
  ])(
    "is refused at %s without an upstream request, with the values that the vendor supports: %j",
    async (kind, fields, param, words) => {
      const response = await embed(kind, fields);
      const { error } = (await response.json()) as { error: { message: string; param: string } };
      expect(response.status).toBe(400);
      expect(error).toMatchObject({ param, code: "invalid_value" });
      for (const word of words) expect(error.message).toContain(word);
      expect(fake.requests).toHaveLength(0);
    },
  );

  test("is sent to another target of the model, which needs none", async () => {
    fake.script(vendorResponse("together"));
    const response = await gateway.post("/v1/embeddings", {
      model: "mixed",
      input: "a",
      input_type: "clustering",
    });
    expect(response.status).toBe(200);
    expect(fake.requests[0]?.json).toMatchObject({ model: "b" });
    expect(parameterHeaders(response)).toEqual([null, "input_type"]);
  });
});

describe("two task types in one request", () => {
  test.each<[Kind, object, string]>([
    ["cohere", { input_type: "search_query", task_type: "RETRIEVAL_DOCUMENT" }, "task_type"],
    ["jina", { task: "retrieval.query", input_type: "document" }, "task"],
    ["vllm", { input_type: "query", task: "a word of their own" }, "task"],
  ])(
    "that differ are refused at %s without an upstream request: %j",
    async (kind, fields, param) => {
      const response = await embed(kind, fields);
      const { error } = (await response.json()) as { error: { message: string; param: string } };
      expect(response.status).toBe(400);
      expect(error).toMatchObject({ param, code: "invalid_value" });
      expect(fake.requests).toHaveLength(0);
    },
  );

  test.each<Kind>(["cohere", "vllm"])(
    "that are equal are sent to %s once, and a header reports it",
    async (kind) => {
      const fields = { input_type: "search_query", task: "retrieval.query", task_type: "QUERY" };
      const response = await embed(kind, fields);
      expect(response.status).toBe(200);
      expect(parameterHeaders(response)).toEqual([null, "task_type, task"]);
      const sent = fake.requests.at(-1)?.json as object;
      expect(sent).toMatchObject({ input_type: "search_query" });
      expect(Object.keys(sent)).not.toContain("task");
      expect(Object.keys(sent)).not.toContain("task_type");
    },
  );
});

test("texts with different task types have different cache keys", async () => {
  for (const input_type of ["query", "document", "query", undefined]) {
    expect((await embed("voyage", { input_type }, "the same text")).status).toBe(200);
  }
  const sentTaskTypes = fake.requests.map(
    ({ json }) => (json as { input_type?: string }).input_type,
  );
  expect(sentTaskTypes).toEqual(["query", "document", undefined]);
});

test("`user` is sent to upstreams with such a field, and reported as dropped for the others", async () => {
  expect(parameterHeaders(await embed("openai", { user: "u1" }))).toEqual([null, null]);
  expect(fake.requests.at(-1)?.json).toMatchObject({ user: "u1" });
  expect(parameterHeaders(await embed("cohere", { user: "u1" }))).toEqual([null, "user"]);
  expect(JSON.stringify(fake.requests.at(-1)?.json)).not.toContain("u1");
});
