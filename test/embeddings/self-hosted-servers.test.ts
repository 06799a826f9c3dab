/** What servers on one's own machine do not say: other models, characters for tokens, truncated texts. */
import { beforeEach, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startGateway } from "../harness.ts";

/** The model that every response names. */
let served = "bge-small-en-v1.5";
let length = 384;
let status = 200;
let received: { path: string; body: Record<string, unknown> }[] = [];
beforeEach(() => {
  served = "bge-small-en-v1.5";
  length = 384;
  status = 200;
  received = [];
});

/** llama-server has another API at /embeddings. */
const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const { pathname } = new URL(request.url);
    const body = (await request.json()) as Record<string, unknown>;
    received.push({ path: pathname, body });
    if (status !== 200) {
      const message = "This server does not support embeddings. Start it with `--embeddings`";
      const error = { code: status, message, type: "not_supported_error" };
      return Response.json({ error }, { status });
    }
    const texts = [body.input].flat() as string[];
    const data = texts.map((_, index) => ({
      object: "embedding",
      index,
      embedding: Array.from({ length }, (_, at) => at + 1),
    }));
    const characters = texts.join("").length;
    const usage = { prompt_tokens: characters, total_tokens: characters };
    return Response.json({ object: "list", data, model: served, usage, id: "1", created: 1 });
  },
});
const origin = `http://127.0.0.1:${upstream.port}`;

const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "0" },
  yaml: `
upstreams:
  - { id: infinity, kind: infinity, baseUrl: "${origin}" }
  - { id: xinference, kind: xinference, baseUrl: "${origin}/v1" }
  - { id: llamacpp, kind: llamacpp, baseUrl: "${origin}" }
models:
  - { id: infinity, kind: embedding, targets: [{ upstream: infinity, model: bge-small-en-v1.5 }] }
  - { id: in-house, kind: embedding, targets: [{ upstream: infinity, model: in-house }] }
  - { id: xinference, kind: embedding, targets: [{ upstream: xinference, model: bge-small-en-v1.5 }] }
  - { id: unknown, kind: embedding, targets: [{ upstream: xinference, model: in-house }] }
  - { id: llamacpp, kind: embedding, targets: [{ upstream: llamacpp, model: in-house }] }
keys:
  - { name: test, key: sk-test-0123456789abcdef }
`,
});
closeAfterAll(gateway, upstream);

interface Reply {
  readonly usage?: { readonly prompt_tokens: number };
  readonly data?: readonly { readonly embedding: number[] }[];
  readonly error?: { readonly code: string; readonly param: string; readonly message: string };
}

async function embed(model: string, input: string | string[], more: object = {}) {
  const response = await gateway.post("/v1/embeddings", { model, input, ...more });
  const { headers } = response;
  return { status: response.status, headers, body: (await response.json()) as Reply };
}

test("Infinity's count of characters is not a count of tokens: usage is estimated", async () => {
  const { headers, body } = await embed("infinity", "a red boat on the quiet sea");
  expect(body.usage?.prompt_tokens).toBe(7);
  expect(headers.get("vexel-usage")).toBe("estimated");
  expect(gateway.rows().at(-1)?.inputTokens).toBeNull();
});

test("a model that Infinity does not have is an error, not the vectors of another model", async () => {
  const { status, body } = await embed("in-house", "a red boat");
  expect(status).toBe(502);
  expect(body.error?.message).toContain("check the model's target");
  served = "in-house";
  expect((await embed("in-house", "a red boat")).status).toBe(200);
});

for (const model of ["infinity", "xinference"]) {
  test(`a text with more words than the model reads tokens is refused before ${model} truncates it`, async () => {
    const long = "word ".repeat(513);
    const { status, body } = await embed(model, ["short", long]);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ param: "input[1]" });
    expect(body.error?.message).toContain("more words than the model reads tokens");
    expect(received).toEqual([]);
    const allowed = await embed(model, ["short", long], { truncate: true });
    expect(allowed.status).toBe(200);
    expect(allowed.headers.get("vexel-adapted")).toBe("input");
    expect(received[0]?.body).not.toHaveProperty("truncate");
    expect((await embed(model, "word ".repeat(512))).status).toBe(200);
  });
}

test("a long text without a word is not refused", async () => {
  expect((await embed("infinity", "!".repeat(400_000))).status).toBe(200);
});

test("dimensions that equal the model's own length are accepted by servers that have no such parameter", async () => {
  length = 8;
  for (const model of ["unknown", "llamacpp"]) {
    const { status, body } = await embed(model, "a red boat", { dimensions: 8 });
    expect(status).toBe(200);
    expect(body.data?.[0]?.embedding).toHaveLength(8);
    expect(received.at(-1)?.body).not.toHaveProperty("dimensions");
    for (const dimensions of [4, 16]) {
      const other = await embed(model, "a red boat", { dimensions });
      expect(other.status).toBe(400);
      expect(other.body.error?.param).toBe("dimensions");
    }
  }
});

test("a task type that a server ignores is reported as dropped", async () => {
  for (const model of ["infinity", "xinference", "llamacpp"]) {
    const { headers } = await embed(model, "a red boat", { input_type: "query" });
    expect(headers.get("vexel-dropped")).toBe("input_type");
    expect(received.at(-1)?.body).not.toHaveProperty("input_type");
  }
});

test("llama-server is called at /v1/embeddings, also if its baseUrl lacks /v1", async () => {
  await embed("llamacpp", "a red boat");
  expect(received.map(({ path }) => path)).toEqual(["/v1/embeddings"]);
});

test("a server without the endpoint is not asked again", async () => {
  status = 501;
  expect((await embed("llamacpp", "a red boat")).status).toBe(502);
  expect(received).toHaveLength(1);
});
