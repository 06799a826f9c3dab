/** Connection tests of upstreams: which step fails and why, without cost, without the credential in the response. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { upstreamKinds } from "../../server/admin/upstream-kinds.ts";
import { upstreamOf } from "../../server/config/validate/schema.ts";
import { runConnectionSteps } from "../../server/upstream/connection-test/connection-steps.ts";
import { kinds } from "../../server/upstream/kinds.ts";
import { selfSigned } from "../certificate-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { testWith } from "../programs.ts";
import { type EntityGateway, startEntityGateway } from "./entities-fixture.ts";

const key = "sk-fake-credential-0123456789";
const fake = startFake({ key });
let gateway: EntityGateway;
beforeAll(async () => {
  gateway = await startEntityGateway();
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

interface Step {
  readonly step: string;
  readonly result: string;
  readonly detail: string;
}

async function run(upstream: object, more: object = {}) {
  const { status, text, json } = await gateway.call("POST /upstreams/test", { upstream, ...more });
  const steps = (json.steps ?? []) as readonly Step[];
  const results = Object.fromEntries(steps.map(({ step, result }) => [step, result]));
  return { status, text, json, results };
}

test("a name server that does not answer fails the DNS step after its timeout", async () => {
  const [dns, tcp] = await runConnectionSteps(new URL("https://cloud.example/v1"), {
    resolve: () => Promise.withResolvers<never>().promise,
    timeoutMs: 20,
    clock: () => performance.now(),
  });
  expect(dns).toMatchObject({ step: "dns", result: "failed" });
  expect(dns?.detail).toContain("The DNS server did not respond for cloud.example (ETIMEDOUT)");
  expect(tcp).toMatchObject({ step: "tcp", result: "skipped" });
});

/** A server that responds to everything with `respond`. */
function serve(respond: (request: Request) => Response | Promise<Response>) {
  const requests: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      requests.push(`${request.method} ${new URL(request.url).pathname}`);
      return respond(request);
    },
  });
  const url = `http://127.0.0.1:${server.port}/v1`;
  return { url, requests, [Symbol.dispose]: () => void server.stop(true) };
}

const openai = (baseUrl: string, more: object = {}) => ({
  kind: "openai",
  baseUrl,
  apiKey: key,
  ...more,
});

test("a connection test reaches the upstream, checks the credential and lists the models without cost", async () => {
  fake.clear();
  const { status, json, results, text } = await run(openai(fake.url));
  expect(status).toBe(200);
  expect(results).toEqual({
    dns: "passed",
    tcp: "passed",
    tls: "skipped",
    http: "passed",
    credential: "passed",
  });
  expect(json).toMatchObject({ reachable: true, credential: "accepted", problem: null });
  expect(json.may_have_cost).toBe(false);
  expect(json.models).toContainEqual({ id: "text-embedding-3-small", kind: "embedding" });
  expect(fake.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /v1/models",
    "GET /v1/models",
  ]);
  expect(text).not.toContain(key);
});

test("a wrong credential is reported without repeating it", async () => {
  const wrong = "sk-wrong-credential-987654321";
  const { json, text } = await run(openai(fake.url, { apiKey: wrong }));
  expect(json).toMatchObject({ reachable: true, credential: "refused" });
  expect(json.problem).toStartWith("The server rejected the credential (status 401)");
  expect(json.problem).toEndWith(". Check the credential and its permissions.");
  expect(text).not.toContain(wrong);
  expect(gateway.log()).not.toContain(wrong);
});

describe("the failed step is named with its reason", () => {
  test("a host name that does not resolve", async () => {
    const { json, results } = await run(openai("https://vendor.invalid/v1"));
    expect(results).toMatchObject({ dns: "failed", tcp: "skipped", http: "skipped" });
    expect(json.problem).toMatch(/vendor\.invalid/);
    expect(json.reachable).toBe(false);
  });

  test("a port on which nothing listens", async () => {
    const closed = serve(() => new Response());
    closed[Symbol.dispose]();
    const { json, results } = await run(openai(closed.url));
    expect(results).toMatchObject({ dns: "passed", tcp: "failed", http: "skipped" });
    expect(json.problem).toContain(" refused the connection");
  });

  testWith("openssl")("a self-signed certificate", async () => {
    const certificate = selfSigned(gateway.folder, "IP:127.0.0.1");
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(),
      tls: { cert: certificate.cert, key: certificate.key },
    });
    const { json, results } = await run(openai(`https://127.0.0.1:${server.port}/v1`));
    expect(results).toMatchObject({ tcp: "passed", tls: "failed", http: "skipped" });
    expect(json.problem).toContain("certificate of 127.0.0.1 is not valid");
    await server.stop(true);
  });

  test.each([
    [500, "returned an error (status 500)"],
    [302, "redirects to another address"],
  ])("a server that responds with %d", async (status, problem) => {
    const headers = { location: "http://169.254.169.254/latest/meta-data" };
    using server = serve(() => new Response("", { status, headers }));
    const { json, results } = await run(openai(server.url));
    expect(results).toMatchObject({ http: "failed", credential: "skipped" });
    expect(json.problem).toContain(problem);
    expect(server.requests).toEqual(["GET /v1/models"]);
  });

  test("an upstream that the configuration would refuse is refused with its field", async () => {
    const { status, json } = await run({ kind: "openai", baseUrl: fake.url });
    expect([status, json.error.param]).toEqual([400, "apiKey"]);
  });
});

describe("a vendor without a free request that checks the credential", () => {
  const embeddings = { data: [{ index: 0, embedding: [1, 0] }], model: "m", object: "list" };
  const publicList = () =>
    serve((request) =>
      request.method === "GET"
        ? Response.json({ data: [{ id: "open-embed" }] })
        : Response.json({ ...embeddings, usage: { prompt_tokens: 1, total_tokens: 1 } }),
    );

  test("is reported as unverified, and nothing is billed", async () => {
    using server = publicList();
    const { json } = await run(openai(server.url));
    expect(json).toMatchObject({ reachable: true, credential: "unverified" });
    expect(json.models).toEqual([{ id: "open-embed", kind: "embedding" }]);
    expect(server.requests.every((request) => request.startsWith("GET"))).toBe(true);
  });

  test("is verified by one request that may cost, if that is permitted", async () => {
    using server = publicList();
    const missing = await run(openai(server.url), { mayCost: true });
    expect([missing.status, missing.json.error.param]).toEqual([400, "model"]);
    const { json } = await run(openai(server.url), { mayCost: true, model: "open-embed" });
    expect(json).toMatchObject({ credential: "accepted", may_have_cost: true });
    expect(server.requests.filter((request) => request.startsWith("POST"))).toEqual([
      "POST /v1/embeddings",
    ]);
  });
});

test("a credential that the token service refuses is reported with the message of the service", async () => {
  using models = serve(() => Response.json({ resources: [] }));
  using tokens = serve(() =>
    Response.json(
      { error: "invalid_client", error_description: `The key ${key} could not be found.` },
      { status: 400 },
    ),
  );
  const { json, results, text } = await run({
    kind: "watsonx",
    baseUrl: models.url,
    iamUrl: tokens.url,
    apiKey: key,
    projectId: "p",
  });
  expect(results).toMatchObject({ http: "passed", credential: "failed" });
  expect(json.credential).toBe("refused");
  expect(json.problem).toContain(
    "status 400, invalid_client: The key ******** could not be found.",
  );
  expect(text).not.toContain(key);
  expect(models.requests).toEqual([]);
});

test("a credential that the server repeats in its error is not in the response", async () => {
  using server = serve((request) =>
    Response.json({ error: { message: request.headers.get("authorization") } }, { status: 400 }),
  );
  const { text } = await run(openai(server.url), {
    mayCost: true,
    model: "text-embedding-3-small",
  });
  expect(text).not.toContain(key);
});

test("a stored upstream is tested with its stored credential, which stays with its address", async () => {
  await gateway.call("POST /upstreams", openai(fake.url, { id: "stored" }));
  const stored = await gateway.call("POST /upstreams/stored/test", {});
  expect(stored.json.credential).toBe("accepted");
  const { json } = await gateway.call("GET /upstreams/stored");
  const draft = await run({ ...json.value, id: "stored" });
  expect(draft.json.credential).toBe("accepted");
  using elsewhere = serve(() => new Response());
  const moved = await run({ ...json.value, id: "stored", baseUrl: elsewhere.url });
  expect([moved.status, moved.json.error.param]).toEqual([400, "baseUrl"]);
  expect(elsewhere.requests).toEqual([]);
  const unknown = await gateway.call("POST /upstreams/nowhere/test", {});
  expect(unknown.status).toBe(404);
  const { json: log } = await gateway.call("GET /audit?action=upstream.tested");
  expect(log.data.length).toBeGreaterThan(1);
});

describe("the kinds of upstreams", () => {
  test("all kinds but the built-in models have a title and described fields from the schema of the file", async () => {
    const shown = await upstreamKinds();
    const configurable = [...kinds.keys()].filter((kind) => kind !== "minilm" && kind !== "sketch");
    expect(shown.map(({ kind }) => kind).sort()).toEqual(configurable.sort());
    for (const { kind, title, fields } of shown) {
      const definition = kinds.get(kind);
      if (!definition) throw new Error(`${kind} is no kind`);
      expect(title).not.toBe("");
      const named = fields.map(({ name }) => name).sort();
      const { id: _, kind: __, limits: ___, ...members } = upstreamOf(definition).shape;
      // Each member of `auth` is a field of its own.
      expect([...new Set(named.map((name) => name.split(".")[0] ?? ""))].sort()).toEqual(
        Object.keys(members).sort(),
      );
      for (const { name, description, required } of fields) {
        expect(`${kind} ${name}: ${description}`).toMatch(/\.$/);
        if (definition.needs.includes(name)) expect(required).toBe(true);
      }
    }
  });

  test("every credential is marked as a secret, and the vendor's address is the default", async () => {
    const { json } = await gateway.call("GET /upstream-kinds");
    const bedrock = json.data.find(({ kind }) => kind === "bedrock");
    const fields = bedrock?.fields as readonly { name: string; secret: boolean }[];
    expect(fields.filter(({ secret }) => secret).map(({ name }) => name)).toEqual([
      "apiKey",
      "secretAccessKey",
      "sessionToken",
      "headers",
    ]);
    expect(bedrock?.needs_one_of).toEqual([
      ["apiKey"],
      ["accessKeyId", "secretAccessKey"],
      ["auth"],
    ]);
    const kindsShown = await upstreamKinds();
    const azure = kindsShown.find(({ kind }) => kind === "azure");
    expect(azure?.fields.filter(({ secret }) => secret).map(({ name }) => name)).toEqual([
      "apiKey",
      "auth.clientSecret",
      "auth.certificate",
      "headers",
    ]);
    const openaiKind = kindsShown.find(({ kind }) => kind === "openai");
    expect(openaiKind?.fields[0]).toMatchObject({ name: "apiKey", required: true, secret: true });
    expect(openaiKind?.fields.find(({ name }) => name === "baseUrl")).toMatchObject({
      type: "url",
      default: "https://api.openai.com/v1",
      required: false,
    });
  });
});
