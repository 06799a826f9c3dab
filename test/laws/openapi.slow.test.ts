/** The OpenAPI document is valid and accurate: examples, real responses and errors are validated against it. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import Ajv, { type ValidateFunction } from "ajv/dist/2020";
import { examples } from "../../server/api/openapi-examples.ts";
import {
  type Route,
  type RouteName,
  routes,
  type UnversionedName,
} from "../../server/http/routes.ts";
import type { StoredAliasName, StoredRouteName } from "../../server/http/stored-routes.ts";
import { embeddingLine } from "../batches/lines.ts";
import { arrange, grayImage } from "../conformance/arrange.ts";
import { configFor, testKey } from "../harness.ts";

type Json = Record<string, unknown>;

interface Content {
  readonly schema?: Json;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: Json;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<
    Record<
      string,
      {
        description: string;
        headers?: Readonly<Record<string, { readonly schema: Json }>>;
        content: Readonly<Record<string, Content>>;
      }
    >
  >;
  readonly security?: readonly Record<string, readonly string[]>[];
}

interface Document {
  readonly openapi: string;
  readonly info: Json;
  readonly servers: readonly { url: string }[];
  readonly security: readonly Record<string, readonly string[]>[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Json; readonly securitySchemes: Json };
}

const pricedModel = `models:
  - { id: priced, kind: embedding, showCost: true, targets: [{ upstream: fake, model: text-embedding-3-small }] }`;
const metricsToken = "metrics-token-0123456789";
const { fake, gateway, close } = arrange({
  yaml: (url) =>
    `${configFor(url).replace("models:", pricedModel)}\ndefaults: { embedding: embedding-model, image: any-image-model }\n`,
  settings: { VEXEL_METRICS_TOKEN: metricsToken, VEXEL_WEBHOOK_PRIVATE: "127.0.0.1" },
});
beforeEach(() => fake.clear());
afterAll(close);

const got = await fetch(`${gateway.url}/openapi.json`);
const document = (await got.json()) as Document;

// Strict: a keyword that JSON Schema does not have is a mistake.
const ajv = new Ajv({ allErrors: true, code: { optimize: false } });
ajv.addVocabulary(["components"]);
/** References of all schemas point into this one, so that a component is compiled once. */
ajv.addSchema({ $id: "vexel:document", components: document.components });
const validators = new Map<string, ValidateFunction>();

function validatorOf(schema: Json): ValidateFunction {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"vexel:document#/');
  const known = validators.get(text);
  if (known) return known;
  const made = ajv.compile(JSON.parse(text) as Json);
  validators.set(text, made);
  return made;
}

/** The validation errors of a value as text; empty if it is valid. */
function complaints(schema: Json | undefined, value: unknown): string {
  if (!schema) return "there is no schema";
  const validate = validatorOf(schema);
  return validate(value) ? "" : ajv.errorsText(validate.errors);
}

function operationOf({ path, method }: Route): Operation {
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`${method} ${path} is not in the document`);
  return operation;
}

const rowOf = (name: RouteName): Route => routes.find((row) => row.name === name) as Route;
const requestSchema = (name: RouteName, type = "application/json"): Json | undefined =>
  operationOf(rowOf(name)).requestBody?.content[type]?.schema;
const errorSchema = { $ref: "#/components/schemas/Error" };

function schemasOf({ requestBody, responses, parameters }: Operation): Json[] {
  const contents = [
    requestBody?.content,
    ...Object.values(responses).map(({ content }) => content),
  ];
  return [
    ...contents.flatMap((content) => Object.values(content ?? {}).map(({ schema }) => schema)),
    ...(parameters ?? []).map(({ schema }) => schema),
  ].filter((schema) => schema !== undefined);
}

describe("the document is OpenAPI 3.1", () => {
  const operations = routes.map((row) => ({ row, operation: operationOf(row) }));

  test("its info section is complete", () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: "Vexel", version: expect.any(String) });
    // Relative to the address of the document.
    expect(document.servers.map(({ url }) => new URL(url, got.url).href)).toEqual([
      `${gateway.url}/`,
    ]);
    const members = ["openapi", "info", "servers", "security", "paths", "components"];
    expect(Object.keys(document).filter((name) => !members.includes(name))).toEqual([]);
  });

  test("it has every route and no other", () => {
    const listed = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(listed.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
  });

  test("every operation has a unique id, a summary and described responses", () => {
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { operation } of operations) {
      expect(operation.summary).not.toBe("");
      for (const { description, content } of Object.values(operation.responses)) {
        expect(description).not.toBe("");
        expect(Object.keys(content)).not.toEqual([]);
      }
      const {
        202: accepted,
        200: good = accepted,
        default: bad,
      } = operation.responses as Record<string, unknown>;
      expect(good).toBeDefined();
      expect(bad).toBeDefined();
    }
  });

  test("every path parameter is declared, and no other", () => {
    for (const { row, operation } of operations) {
      const parts = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
      expect(declared.map(({ name }) => name)).toEqual(parts as string[]);
      for (const parameter of declared) expect(parameter.required).toBeTrue();
    }
  });

  test("requests for a model declare the header of tags, and their responses the header of the cost", async () => {
    for (const path of ["/v1/embeddings", "/v1/images/generations", "/v1/images/edits"]) {
      const operation = document.paths[path]?.post as Operation;
      const headers = (operation.parameters ?? []).filter((parameter) => parameter.in === "header");
      expect(headers.map(({ name }) => name)).toContain("vexel-tags");
      expect(Object.keys(operation.responses[200]?.headers ?? {})).toEqual(["vexel-cost"]);
    }
    const { headers } = await gateway.post(
      "/v1/embeddings",
      { model: "priced", input: "a text" },
      { authorization: `Bearer ${testKey}`, "vexel-tags": "team:search,nightly" },
    );
    const declared = document.paths["/v1/embeddings"]?.post?.responses[200]?.headers;
    expect(complaints(declared?.["vexel-cost"]?.schema, headers.get("vexel-cost"))).toBe("");
  });

  test("every referenced security scheme exists", () => {
    const schemes = Object.keys(document.components.securitySchemes);
    const named = [
      document.security,
      ...operations.map(({ operation }) => operation.security ?? []),
    ]
      .flat()
      .flatMap((requirement) => Object.keys(requirement));
    expect(new Set(named)).toEqual(new Set(schemes));
  });

  test("every schema compiles", () => {
    for (const { operation } of operations)
      for (const schema of schemasOf(operation)) expect(() => validatorOf(schema)).not.toThrow();
    for (const schema of Object.values(document.components.schemas))
      expect(() => validatorOf(schema as Json)).not.toThrow();
  });

  test("every reference resolves", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(0);
    for (const [, reference = ""] of references) {
      const steps = reference.replace(/^#\//, "").split("/");
      const found = steps.reduce<unknown>((at, step) => (at as Json)?.[step], document);
      expect(found).toBeDefined();
    }
  });
});

describe("every example is valid", () => {
  for (const [name, { request, response }] of Object.entries(examples)) {
    const operation = operationOf(rowOf(name as RouteName));
    test(name, () => {
      const requestContent = operation.requestBody?.content["application/json"];
      const responseContent = operation.responses[200]?.content["application/json"];
      if (request !== undefined) {
        expect(requestContent?.example).toEqual(request);
        expect(complaints(requestContent?.schema, request)).toBe("");
      }
      if (response !== undefined) {
        expect(responseContent?.example).toEqual(response);
        expect(complaints(responseContent?.schema, response)).toBe("");
      }
    });
  }
});

const authorization = `Bearer ${testKey}`;
const get = (path: string): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { headers: { authorization } });
const image = `data:image/png;base64,${Buffer.from(grayImage("an otter")).toString("base64")}`;

const apiVersion = "?api-version=2025-04-01-preview";

/** A valid request to each route, and its expected response. */
async function imageLink(): Promise<string> {
  // The upstream ignores `response_format` and sends base64; the gateway makes a link of it.
  const body = {
    created: 1,
    data: [{ b64_json: Buffer.from(grayImage("an otter")).toString("base64") }],
  };
  fake.script({ response: { status: 200, body: JSON.stringify(body) } });
  const response = await gateway.post("/v1/images/generations", {
    model: "gpt-image-2",
    prompt: "an otter",
    response_format: "url",
  });
  const { data } = (await response.json()) as { data: { url: string }[] };
  expect(data).toHaveLength(1);
  expect(data[0]!.url).toStartWith(`${gateway.url}/files/images/`);
  return data[0]!.url;
}

const remove = (path: string): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { method: "DELETE", headers: { authorization } });

/** Uploads a file and returns its id. */
async function uploadFile(path: string): Promise<Response> {
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new Blob(["otters"]), "otters.txt");
  return fetch(`${gateway.url}${path}`, { method: "POST", headers: { authorization }, body: form });
}

/** The path of the row, with the id of a new file. */
async function pathWithFile(path: string): Promise<string> {
  const { id } = (await (await uploadFile("/v1/files")).json()) as { id: string };
  return path.replace("{id}", id);
}

const newUpload = { bytes: 6, filename: "otters", mime_type: "text/plain", purpose: "user_data" };

/** The path of the row, with the id of a new upload. */
async function pathWithUpload(path: string): Promise<string> {
  const made = await gateway.post("/v1/uploads", newUpload);
  return path.replace("{id}", ((await made.json()) as { id: string }).id);
}

function addPart(path: string): Promise<Response> {
  const form = new FormData();
  form.set("data", new Blob(["otters"]), "part");
  return fetch(`${gateway.url}${path}`, { method: "POST", headers: { authorization }, body: form });
}

const jobBody = { model: "gpt-image-2", prompt: "an otter" };

/** Submits an image job and returns its id. */
async function submitJob(): Promise<string> {
  const response = await gateway.post("/v1/images/generations", { ...jobBody, async: true });
  return ((await response.json()) as { id: string }).id;
}

async function endedJob(): Promise<string> {
  const id = await submitJob();
  for (;;) {
    const job = (await (await get(`/v1/images/jobs/${id}`)).json()) as { completed_at: unknown };
    if (job.completed_at !== null) return id;
    await Bun.sleep(20);
  }
}

/** Batches of many lines, which have not ended when they are canceled. */
async function newBatch(): Promise<Json> {
  const lines = Array.from({ length: 200 }, (_, at) =>
    embeddingLine(`${at}`, `${crypto.randomUUID()}`),
  );
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob(lines), "lines.jsonl");
  const url = `${gateway.url}/v1/files`;
  const made = await fetch(url, { method: "POST", headers: { authorization }, body: form });
  const { id: input_file_id } = (await made.json()) as { id: string };
  return { input_file_id, endpoint: "/v1/embeddings", completion_window: "24h" };
}

/** The path of the row, with the id of a new batch. */
async function pathWithBatch(path: string): Promise<string> {
  const made = await gateway.post("/v1/batches", await newBatch());
  return path.replace("{id}", ((await made.json()) as { id: string }).id);
}

const storedCalls: Readonly<Record<StoredRouteName, (path: string) => Promise<Response>>> = {
  createFile: uploadFile,
  files: async (path) => {
    await uploadFile("/v1/files");
    return get(path);
  },
  file: async (path) => get(await pathWithFile(path)),
  fileContent: async (path) => get(await pathWithFile(path)),
  deleteFile: async (path) => remove(await pathWithFile(path)),
  createUpload: (path) => gateway.post(path, newUpload),
  addUploadPart: async (path) => addPart(await pathWithUpload(path)),
  completeUpload: async (path) => {
    const made = await pathWithUpload(path);
    const added = await addPart(made.replace("/complete", "/parts"));
    return gateway.post(made, { part_ids: [((await added.json()) as { id: string }).id] });
  },
  cancelUpload: async (path) => gateway.post(await pathWithUpload(path), {}),
  createBatch: async (path) => gateway.post(path, await newBatch()),
  batches: async (path) => {
    await gateway.post("/v1/batches", await newBatch());
    return get(path);
  },
  batch: async (path) => get(await pathWithBatch(path)),
  cancelBatch: async (path) => gateway.post(await pathWithBatch(path), {}),
  createWebhookEndpoint: (path) => gateway.post(path, newEndpoint),
  webhookEndpoints: async (path) => {
    await pathWithEndpoint(path);
    return get(path);
  },
  webhookEndpoint: async (path) => get(await pathWithEndpoint(path)),
  updateWebhookEndpoint: async (path) =>
    gateway.post(await pathWithEndpoint(path), { name: "boats" }),
  deleteWebhookEndpoint: async (path) => remove(await pathWithEndpoint(path)),
  rotateWebhookSecret: async (path) =>
    gateway.post(await pathWithEndpoint(path), { keep_old_secret_active_for_24_hours: true }),
  testWebhookEndpoint: async (path) =>
    gateway.post(await pathWithEndpoint(path), { event_type: "batch.completed" }),
  webhookEventTypes: get,
  imageJobs: async (path) => {
    await submitJob();
    return get(path);
  },
  imageJob: async (path) => get(path.replace("{id}", await endedJob())),
  cancelImageJob: async (path) => gateway.post(path.replace("{id}", await endedJob()), {}),
  deleteImageJob: async (path) => remove(path.replace("{id}", await endedJob())),
  generationTask: async (path) => gateway.post(path, jobBody),
  editTask: async (path) => gateway.post(path, { ...jobBody, images: [{ image_url: image }] }),
  imageTask: async (path) => get(path.replace("{id}", await endedJob())),
};

const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
afterAll(() => void receiver.stop(true));

const newEndpoint = {
  name: "otters",
  url: `http://127.0.0.1:${receiver.port}/`,
  event_types: ["batch.completed"],
};

/** The path of the row, with the id of a new webhook endpoint. */
async function pathWithEndpoint(path: string): Promise<string> {
  const made = await gateway.post("/v1/webhook_endpoints", newEndpoint);
  return path.replace("{id}", ((await made.json()) as { id: string }).id);
}

const isStored = (name: string): name is StoredRouteName => name in storedCalls;

const calls: Readonly<
  Record<
    Exclude<RouteName, StoredRouteName | StoredAliasName | UnversionedName>,
    () => Promise<readonly Response[]>
  >
> = {
  embeddings: async () => [
    await gateway.post("/v1/embeddings", { model: "text-embedding-3-small", input: "an otter" }),
    await gateway.post("/v1/embeddings", {
      model: "embedding-model",
      input: ["an otter", "a boat"],
      encoding_format: "base64",
      dimensions: 8,
    }),
  ],
  engineEmbeddings: async () => [
    await gateway.post("/v1/engines/text-embedding-3-small/embeddings", { input: ["an otter"] }),
  ],
  generations: async () => [
    await gateway.post("/v1/images/generations", {
      model: "gpt-image-2",
      prompt: "an otter",
      n: 2,
    }),
    await gateway.post("/v1/images/generations", {
      model: "dall-e-3",
      prompt: "an otter",
      response_format: "url",
    }),
    await gateway.post("/v1/images/generations", {
      model: "gpt-image-2",
      prompt: "an otter",
      stream: true,
      partial_images: 2,
    }),
  ],
  edits: async () => {
    const form = new FormData();
    form.set("model", "gpt-image-2");
    form.set("prompt", "a hat for the otter");
    form.set("image", new Blob([grayImage("an otter")], { type: "image/png" }), "otter.png");
    const url = `${gateway.url}/v1/images/edits`;
    return [
      await gateway.post("/v1/images/edits", {
        model: "gpt-image-2",
        prompt: "a hat for the otter",
        images: [{ image_url: image }],
      }),
      await fetch(url, { method: "POST", headers: { authorization }, body: form }),
    ];
  },
  result: async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const body = { model: "gpt-image-2", prompt: "an otter" };
    const made = await gateway.post("/v1/images/generations", body, headers);
    return [await get(`/v1/images/results/${made.headers.get("x-request-id")}`)];
  },
  models: async () => [await get("/v1/models")],
  model: async () => [await get("/v1/models/gpt-image-2"), await get("/v1/models/embedding-model")],
  engines: async () => [await get("/v1/engines")],
  engine: async () => [await get("/v1/engines/gpt-image-2")],
  azureEmbeddings: async () => [
    await gateway.post("/openai/v1/embeddings", { model: "embedding-model", input: "an otter" }),
  ],
  azureGenerations: async () => [
    await gateway.post("/openai/v1/images/generations", {
      model: "gpt-image-2",
      prompt: "an otter",
    }),
  ],
  azureEdits: async () => [
    await gateway.post("/openai/v1/images/edits", {
      model: "gpt-image-2",
      prompt: "a hat for the otter",
      images: [{ image_url: image }],
    }),
  ],
  azureModels: async () => [await get("/openai/v1/models")],
  azureModel: async () => [await get("/openai/v1/models/gpt-image-2")],
  deploymentEmbeddings: async () => [
    await gateway.post(`/openai/deployments/embedding-model/embeddings${apiVersion}`, {
      input: "a",
    }),
  ],
  deploymentGenerations: async () => [
    await gateway.post(`/openai/deployments/gpt-image-2/images/generations${apiVersion}`, {
      prompt: "an otter",
    }),
  ],
  deploymentEdits: async () => [
    await gateway.post(`/openai/deployments/gpt-image-2/images/edits${apiVersion}`, {
      prompt: "a hat for the otter",
      images: [{ image_url: image }],
    }),
  ],
  v1DeploymentEmbeddings: async () => [
    await gateway.post(`/v1/deployments/embedding-model/embeddings${apiVersion}`, { input: "a" }),
  ],
  v1DeploymentGenerations: async () => [
    await gateway.post(`/v1/deployments/gpt-image-2/images/generations${apiVersion}`, {
      prompt: "an otter",
    }),
  ],
  v1DeploymentEdits: async () => [
    await gateway.post(`/v1/deployments/gpt-image-2/images/edits${apiVersion}`, {
      prompt: "a hat for the otter",
      images: [{ image_url: image }],
    }),
  ],
  azureDeploymentEmbeddings: async () => [
    await gateway.post(`/openai/v1/deployments/embedding-model/embeddings${apiVersion}`, {
      input: "a",
    }),
  ],
  azureDeploymentGenerations: async () => [
    await gateway.post(`/openai/v1/deployments/gpt-image-2/images/generations${apiVersion}`, {
      prompt: "an otter",
    }),
  ],
  azureDeploymentEdits: async () => [
    await gateway.post(`/openai/v1/deployments/gpt-image-2/images/edits${apiVersion}`, {
      prompt: "a hat for the otter",
      images: [{ image_url: image }],
    }),
  ],
  deploymentModels: async () => [await get(`/openai/models${apiVersion}`)],
  deploymentModel: async () => [await get(`/openai/models/gpt-image-2${apiVersion}`)],
  deploymentEngines: async () => [await get(`/openai/engines${apiVersion}`)],
  deploymentEngine: async () => [await get(`/openai/engines/gpt-image-2${apiVersion}`)],
  deploymentEngineEmbeddings: async () => [
    await gateway.post(`/openai/engines/embedding-model/embeddings${apiVersion}`, { input: "a" }),
  ],
  undeployedEmbeddings: async () => [
    await gateway.post(`/openai/embeddings${apiVersion}`, { model: "embedding-model", input: "a" }),
  ],
  undeployedGenerations: async () => [
    await gateway.post(`/openai/images/generations${apiVersion}`, {
      model: "gpt-image-2",
      prompt: "an otter",
    }),
  ],
  undeployedEdits: async () => [
    await gateway.post(`/openai/images/edits${apiVersion}`, {
      model: "gpt-image-2",
      prompt: "a hat for the otter",
      images: [{ image_url: image }],
    }),
  ],
  imageFile: async () => [await fetch(await imageLink())],
  health: async () => [await get("/healthz")],
  ready: async () => [await get("/readyz")],
  metrics: async () => [
    await fetch(`${gateway.url}/metrics`, {
      headers: {
        authorization: `Bearer ${metricsToken}`,
        accept: "text/plain",
      },
    }),
  ],
  openapi: async () => [await get("/openapi.json")],
  root: async () => [await get("/")],
};

describe("every real response matches the document", () => {
  for (const row of routes) {
    test(`${row.method} ${row.path}`, async () => {
      const name = row.name in calls ? row.name : (row.sameAs ?? row.name);
      const responses = isStored(name)
        ? [await storedCalls[name](row.path)]
        : await calls[name as keyof typeof calls]();
      expect(responses.length).toBeGreaterThan(0);
      for (const response of responses) {
        const type = response.headers.get("content-type")?.split(";")[0] ?? "";
        const { responses: documentedResponses } = operationOf(row);
        const status = "200" in documentedResponses ? 200 : 202;
        expect(response.status).toBe(status);
        const content = documentedResponses[status]?.content;
        const documented = content?.[type] ?? content?.[type.replace(/\/.*/, "/*")];
        expect(`${type} ${documented ? "is documented" : "is not documented"}`).toBe(
          `${type} is documented`,
        );
        if (type !== "application/json") continue;
        const { schema } = documented as Content;
        if (schema) expect(complaints(schema, await response.json())).toBe("");
      }
    });
  }
});

describe("every error response matches the document", () => {
  const refused: readonly [number, () => Promise<Response>][] = [
    [401, () => fetch(`${gateway.url}/v1/models`)],
    [404, () => get("/v1/nothing")],
    [404, () => get("/v1/models/nothing")],
    [404, () => get("/files/images/nothing.png")],
    [405, () => get("/v1/embeddings")],
    [400, () => gateway.post("/v1/embeddings", "{")],
    [415, () => gateway.post("/v1/embeddings", "{}", { "content-type": "text/plain" })],
    [400, () => gateway.post("/v1/embeddings", { model: "embedding-model" })],
    [400, () => gateway.post("/v1/images/generations", { model: "gpt-image-2", prompt: 3 })],
    [400, () => gateway.post("/v1/images/edits", { model: "gpt-image-2", prompt: "a hat" })],
  ];
  test("in OpenAI's shape, with a request id", async () => {
    for (const [status, call] of refused) {
      const response = await call();
      expect(response.status).toBe(status);
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      expect(complaints(errorSchema, await response.json())).toBe("");
    }
  });

  test("an error of the upstream matches it as well", async () => {
    for (const status of [400, 401, 403, 404, 429, 500, 503]) {
      fake.clear();
      const error = JSON.stringify({ error: { message: "no" } });
      // For every attempt: some of these errors are retried.
      fake.script({ response: { status, body: error } }, { times: 9 });
      const body = { model: "embedding-model", input: "an otter" };
      const response = await gateway.post("/v1/embeddings", body);
      expect(response.ok).toBeFalse();
      expect(complaints(errorSchema, await response.json())).toBe("");
    }
  });
});

const nowhere = "https://example.com/otter.png";

/** One value of each kind that a client might send in a field. */
const values: readonly unknown[] = [
  null,
  "",
  "x",
  "base64",
  "b64_json",
  "1024x1024",
  -1,
  0,
  1,
  2,
  7,
  101,
  1.5,
  true,
  false,
  [],
  ["x"],
  [""],
  ["x", 1],
  [0, 1],
  [-1],
  [1.5],
  [[0, 1]],
  [[]],
  {},
  { x: 1 },
  [{}],
  [{ image_url: nowhere }],
  [{ file_id: "file-1" }],
  [{ image_url: "otter.png" }],
  [{ image_url: 1 }],
  [{ image_url: nowhere, x: 1 }],
  { image_url: nowhere },
];

/** Rules that are not in the document, which the gateway enforces nevertheless. */
const undocumented: readonly { readonly why: string; readonly is: (body: Json) => boolean }[] = [
  { why: "the maximum of n depends on the model", is: ({ n }) => typeof n === "number" && n > 10 },
  {
    why: "a reference has exactly one of image_url and file_id",
    is: ({ images, mask, markup }) =>
      [images, mask, markup].flat().some((entry) => entry && Object.keys(entry).length === 0),
  },
  {
    why: "a link must lead to an image",
    is: ({ images, mask, markup }) =>
      [images, mask, markup]
        .flat()
        .some((entry) => (entry as Json | undefined)?.image_url === nowhere),
  },
];

const bases = {
  embeddings: { path: "/v1/embeddings", body: { model: "embedding-model", input: "an otter" } },
  engineEmbeddings: {
    path: "/v1/engines/embedding-model/embeddings",
    body: { input: "an otter" },
  },
  generations: {
    path: "/v1/images/generations",
    body: { model: "any-image-model", prompt: "an otter" },
  },
  edits: {
    path: "/v1/images/edits",
    body: { model: "any-image-model", prompt: "a hat", images: [{ image_url: image }] },
  },
} as const satisfies Partial<Record<RouteName, { path: string; body: Json }>>;

describe("the schema and the gateway accept the same requests", () => {
  const needed = new Set<string>();
  /**
   * A field that has the same definition at an endpoint before is read by the same code: each endpoint tries every
   * eighth value of it, and the first one all of them.
   */
  const defined = new Set<string>();
  const valuesOf = (field: string, definition: unknown, at: number): readonly unknown[] => {
    const name = JSON.stringify([field, definition]);
    if (defined.has(name)) return values.filter((_, value) => value % 8 === at % 8);
    defined.add(name);
    return values;
  };
  for (const [name, { path, body }] of Object.entries(bases)) {
    test(`POST ${path}`, async () => {
      const schema = requestSchema(name as RouteName);
      const fields = Object.entries((schema?.properties ?? {}) as Json);
      expect(fields.length).toBeGreaterThan(3);
      const tried: Json[] = [
        body,
        {},
        ...Object.keys(body).map((field) =>
          Object.fromEntries(Object.entries(body).filter(([other]) => other !== field)),
        ),
        // Unknown fields are passed on.
        { ...body, of_our_own: { x: [1] } },
        // The model is looked up, whatever the schema says about its text.
        ...fields
          .filter(([field]) => field !== "model")
          .flatMap(([field, definition], at) =>
            valuesOf(field, definition, at).map((value): Json => ({ ...body, [field]: value })),
          ),
      ];
      const disagreements: string[] = [];
      for (const sent of tried) {
        fake.clear();
        // Any response that does not count as an upstream failure.
        fake.script({ response: { status: 400 } });
        const response = await gateway.post(path, sent);
        await response.arrayBuffer();
        // The request of a job must not be taken for that of the next body.
        if (response.status === 202) await fake.arrived(1);
        // A request that reached the upstream, or is a job that will, was accepted by the gateway.
        const accepted = fake.requests.length > 0 || response.status === 202;
        const complaint = complaints(schema, sent);
        if (accepted === (complaint === "")) continue;
        const known = !accepted && undocumented.find(({ is }) => is(sent));
        if (known) {
          needed.add(known.why);
          continue;
        }
        const verdict = accepted ? `the gateway takes it, the schema says ${complaint}` : "refused";
        disagreements.push(`${JSON.stringify(sent).slice(0, 200)}: ${verdict}`);
      }
      expect(disagreements).toEqual([]);
    });
  }

  test("every rule that is missing in the document is listed", () => {
    expect([...needed].sort()).toEqual(undocumented.map(({ why }) => why).sort());
  });

  test("a body that is not an object is refused by both", async () => {
    for (const sent of ["[]", '"x"', "1", "null"]) {
      expect((await gateway.post("/v1/embeddings", sent)).status).toBe(400);
      expect(complaints(requestSchema("embeddings"), JSON.parse(sent))).not.toBe("");
    }
  });
});
