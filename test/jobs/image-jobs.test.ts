/** Image jobs: submission, polling, list, cancel, delete, idempotency and the paths of other gateways. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type Fake, startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";
import { endOf, type ImageJob, jobClient } from "./jobs-fixture.ts";

let upstream: Fake;
let gateway: TestGateway;
const otherKey = "sk-other-0123456789abcdef";

beforeAll(() => {
  upstream = startFake();
  gateway = startGateway({
    settings: { VEXEL_WEBHOOK_PRIVATE: "127.0.0.1" },
    yaml: `${configFor(upstream.url)}  - { name: other, key: ${otherKey}, project: others }\nprojects:\n  - { name: others }\n`,
  });
});
afterAll(async () => {
  await gateway.close();
  upstream.close();
});

const asked = { prefer: "respond-async" };
const otter = { model: "gpt-image-2", prompt: "an otter" };
const client = () => jobClient(gateway.url);

/** The body of a response, without what differs between any two: the time, and the address of an image. */
async function imagesOf(response: Response) {
  const { created, data, ...others } = (await response.json()) as {
    readonly created: number;
    readonly data: readonly { readonly url?: string }[];
  };
  const shown = data.map(({ url, ...image }) =>
    url === undefined ? image : { ...image, url: "" },
  );
  return { created: typeof created, data: shown, ...others };
}

describe("an image request with `Prefer: respond-async`", () => {
  test("is accepted with 202, and its job ends with the unchanged images response", async () => {
    const response = await gateway.post("/v1/images/generations", otter, asked);
    expect(response.status).toBe(202);
    const job = (await response.json()) as ImageJob;
    expect(Object.fromEntries(response.headers)).toMatchObject({
      location: `/v1/images/jobs/${job.id}`,
      "retry-after": "3",
      "preference-applied": "respond-async",
      "cache-control": "no-store",
    });
    expect(job).toEqual({
      id: expect.stringMatching(/^imgjob_[0-9a-f]{32}$/),
      object: "image.job",
      status: "queued",
      progress: 0,
      created_at: expect.any(Number),
      expires_at: expect.any(Number),
      completed_at: null,
      model: "gpt-image-2",
      endpoint: "/v1/images/generations",
      error: null,
      waiting: null,
      metadata: {},
      result: null,
    });
    const ended = await endOf(client(), job.id);
    expect(ended).toMatchObject({ status: "completed", progress: 100, error: null });
    expect(ended.result).toMatchObject({ created: expect.any(Number), usage: expect.any(Object) });
    const [image] = ended.result?.data ?? [];
    expect(image?.url).toStartWith(`${gateway.url}/files/images/`);
    expect((await fetch(image?.url ?? "")).headers.get("content-type")).toBe("image/png");
  });

  test("keeps its tags and its end user in both ledger rows, and its metadata for the client", async () => {
    const response = await gateway.post(
      "/v1/images/generations",
      { ...otter, user: "customer-42", metadata: { note: "any text, of any kind" } },
      { ...asked, "vexel-tags": "team:art" },
    );
    const { id } = (await response.json()) as ImageJob;
    const ended = await endOf(client(), id);
    expect(ended).toMatchObject({ status: "completed", metadata: { note: expect.any(String) } });
    const rows = gateway.rows().filter(({ tags }) => tags === "team:art");
    expect(rows.map(({ requestId }) => requestId.startsWith(id)).sort()).toEqual([false, true]);
    for (const row of rows) {
      expect(row).toMatchObject({ tags: "team:art", endUser: expect.stringMatching(/^eu_/) });
    }
  });

  test("has a ledger row with the id of its job, and the submission one without a cost", async () => {
    const job = await client().submit(otter);
    await endOf(client(), job.id);
    const rows = gateway.rows().filter(({ requestId }) => requestId.startsWith(job.id));
    expect(rows).toMatchObject([{ requestId: `${job.id}-0`, status: 200, images: 1 }]);
    expect(gateway.rows().some(({ status, cost }) => status === 202 && cost === 0)).toBe(true);
  });

  test("and `wait` gets the response that the request without it has, if it is done in time", async () => {
    const prefer = "respond-async, wait=60";
    for (const more of [{}, { response_format: "url" }, { response_format: "b64_json" }]) {
      const body = { ...otter, ...more };
      const [waited, plain] = [
        await gateway.post("/v1/images/generations", body, { prefer }),
        await gateway.post("/v1/images/generations", body),
      ];
      expect([waited.status, plain.status]).toEqual([200, 200]);
      const [ofJob, ofRequest] = [await imagesOf(waited), await imagesOf(plain)];
      expect(ofJob).toEqual(ofRequest);
      expect(ofJob.data).toHaveLength(1);
    }
  });

  test("and base64 on request gets base64", async () => {
    const body = { ...otter, response_format: "b64_json", n: 2 };
    const ended = await endOf(client(), (await client().submit(body)).id);
    expect(ended.result?.data.map(({ b64_json }) => typeof b64_json)).toEqual(["string", "string"]);
  });

  test("that no upstream serves ends with OpenAI's error and its status", async () => {
    const body = { ...otter, prompt: "an otter", size: "7x7" };
    const ended = await endOf(client(), (await client().submit(body)).id);
    expect(ended).toMatchObject({
      status: "failed",
      result: null,
      error: { type: expect.any(String), message: expect.any(String), status_code: 400 },
    });
  });

  test("and an invalid body is refused at once, like any other request", async () => {
    for (const body of [{ model: "gpt-image-2" }, { ...otter, model: "none" }]) {
      const response = await gateway.post("/v1/images/generations", body, asked);
      expect([400, 404]).toContain(response.status);
    }
    const streamed = await gateway.post(
      "/v1/images/generations",
      { ...otter, stream: true },
      asked,
    );
    expect(streamed.status).toBe(400);
    expect(await streamed.json()).toMatchObject({ error: { param: "stream" } });
  });
});

describe("an image request with `async: true`", () => {
  test("is a job, and `async` does not reach the upstream", async () => {
    const response = await gateway.post("/v1/images/generations", { ...otter, async: true });
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as ImageJob;
    await endOf(client(), id);
    expect(Object.keys(upstream.requests.at(-1)?.json as object)).not.toContain("async");
  });

  test("as a multipart edit is a job, with its files", async () => {
    const source = await pngOf();
    const form = new FormData();
    form.set("model", "gpt-image-2");
    form.set("prompt", "with a hat");
    form.set("async", "true");
    form.append("image[]", new Blob([source], { type: "image/png" }), "otter.png");
    const response = await fetch(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}` },
      body: form,
    });
    expect(response.status).toBe(202);
    const job = (await response.json()) as ImageJob;
    expect(job.endpoint).toBe("/v1/images/edits");
    expect(await endOf(client(), job.id)).toMatchObject({ status: "completed", error: null });
  });

  test("under the paths of Azure is a job", async () => {
    const { model: _, ...body } = otter;
    const path =
      "/openai/deployments/gpt-image-2/images/generations?api-version=2025-04-01-preview";
    const response = await gateway.post(path, { ...body, async: true });
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as ImageJob;
    const read = await fetch(`${gateway.url}/openai/v1/images/jobs/${id}`, {
      headers: { "api-key": testKey },
    });
    expect(read.status).toBe(200);
  });

  test("keeps `metadata` for its client, and the upstream does not get it", async () => {
    const job = await client().submit({ ...otter, metadata: { album: "1" } });
    expect(job.metadata).toEqual({ album: "1" });
    await endOf(client(), job.id);
    const refused = await gateway.post(
      "/v1/images/generations",
      { ...otter, metadata: { album: 1 } },
      asked,
    );
    expect(await refused.json()).toMatchObject({ error: { param: "metadata" } });
  });
});

describe("a job", () => {
  test("is submitted once with the same Idempotency-Key", async () => {
    const headers = { ...asked, "idempotency-key": crypto.randomUUID() };
    const submit = async (body: object) =>
      gateway.post("/v1/images/generations", body, headers).then((response) => response.json());
    const [one, other] = (await Promise.all([submit(otter), submit(otter)])) as ImageJob[];
    expect(one?.id).toBe(other?.id as string);
    expect(await submit({ ...otter, prompt: "a boat" })).toMatchObject({
      error: { code: "idempotency_mismatch" },
    });
    // Its request to the upstream is not one of the next test.
    await endOf(client(), one?.id as string);
  });

  test("and the same request without one are paid for once, whichever comes first", async () => {
    for (const firstAsked of [{}, asked]) {
      const headers = { "idempotency-key": crypto.randomUUID() };
      const secondAsked = firstAsked === asked ? {} : asked;
      const before = upstream.requests.length;
      const send = (more: object) =>
        gateway.post("/v1/images/generations", otter, { ...headers, ...more });
      const results = await Promise.all(
        [firstAsked, secondAsked].map(async (more) => {
          const body = (await (await send(more)).json()) as ImageJob & ImageJob["result"];
          return body.object === "image.job" ? (await endOf(client(), body.id)).result : body;
        }),
      );
      expect(upstream.requests.length - before).toBe(1);
      expect(results[0]?.data).toHaveLength(1);
      expect(results[0]).toEqual(results[1] as NonNullable<ImageJob["result"]>);
      const different = await gateway.post(
        "/v1/images/generations",
        { ...otter, prompt: "a boat" },
        { ...headers, ...secondAsked },
      );
      expect(await different.json()).toMatchObject({ error: { code: "idempotency_mismatch" } });
    }
  });

  test("is seen, listed and deleted by keys of its own project only", async () => {
    const other = jobClient(gateway.url, otherKey);
    const [first, second] = [await other.submit(otter), await other.submit(otter)];
    await endOf(other, second.id);
    await endOf(other, first.id);
    expect((await client().get(first.id)).status).toBe(404);
    const page = await other.list("?limit=1");
    expect(page).toMatchObject({ object: "list", has_more: true, last_id: second.id });
    const next = await other.list(`?limit=1&after=${page.last_id}`);
    expect(next).toMatchObject({ has_more: false, first_id: first.id });
    expect(next.data[0]?.result).toBeNull();
    expect((await client().remove(first.id)).status).toBe(404);
    expect(await (await other.remove(first.id)).json()).toEqual({
      id: first.id,
      object: "image.job",
      deleted: true,
    });
    expect((await other.get(first.id)).status).toBe(404);
  });
});

describe("the end of a job", () => {
  test("is delivered to the webhook endpoint of its project, and the SDK verifies it", async () => {
    const received: { headers: Headers; body: string }[] = [];
    const receiver = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        received.push({ headers: request.headers, body: await request.text() });
        return new Response("");
      },
    });
    const created = await gateway.post("/v1/webhook_endpoints", {
      name: "jobs",
      url: `http://127.0.0.1:${receiver.port}/`,
      event_types: ["image.job.completed"],
    });
    const { signing_secret } = (await created.json()) as { signing_secret: string };
    const { id } = await client().submit(otter);
    await until(() => received.some(({ body }) => body.includes(id)));
    const delivery = received.find(({ body }) => body.includes(id));
    const openai = new OpenAI({ apiKey: testKey, webhookSecret: signing_secret });
    const event: unknown = await openai.webhooks.unwrap(
      delivery?.body ?? "",
      delivery?.headers ?? new Headers(),
    );
    expect(event).toMatchObject({ object: "event", type: "image.job.completed", data: { id } });
    await receiver.stop(true);
  });

  test("is read with the official SDK", async () => {
    const openai = new OpenAI({ apiKey: testKey, baseURL: gateway.baseURL });
    const job = await openai.post<ImageJob>("/images/generations", {
      body: otter,
      headers: { prefer: "respond-async, wait=0" },
    });
    await endOf(client(), job.id);
    const read = await openai.get<ImageJob>(`/images/jobs/${job.id}`);
    expect(read).toMatchObject({ status: "completed", result: { data: [{}] } });
  });
});

describe("the paths of gateways with tasks", () => {
  test("submit and poll the same jobs", async () => {
    const response = await gateway.post("/v1/images/generations/async", otter);
    expect(response.status).toBe(202);
    const task = (await response.json()) as ImageJob & { task_id: string; poll_url: string };
    expect(task).toMatchObject({ status: "processing", poll_url: `/v1/images/tasks/${task.id}` });
    expect(response.headers.get("location")).toBe(task.poll_url);
    expect(task.task_id).toBe(task.id);
    await endOf(client(), task.id);
    const headers = { authorization: `Bearer ${testKey}` };
    const read = await fetch(`${gateway.url}${task.poll_url}`, { headers });
    expect(read.headers.get("cache-control")).toBe("no-store");
    expect(await read.json()).toMatchObject({
      task_id: task.id,
      status: "completed",
      http_status: 200,
      result: { data: [{ url: expect.any(String) }] },
    });
  });
});

async function pngOf(): Promise<ArrayBuffer> {
  const response = await gateway.post("/v1/images/generations", {
    ...otter,
    response_format: "b64_json",
  });
  const { data } = (await response.json()) as { data: { b64_json: string }[] };
  return Uint8Array.fromBase64(data[0]?.b64_json ?? "").buffer as ArrayBuffer;
}
