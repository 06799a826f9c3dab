/** Each injected fault of the fake upstream does on the wire what its name says. */

import { afterAll, afterEach, expect, test } from "bun:test";
import { connect } from "node:net";
import OpenAI from "openai";
import { fakeVector, type InjectedFault, startFake } from "../fake-upstream.ts";

const fake = startFake();
const openai = new OpenAI({ baseURL: fake.url, apiKey: "sk-fake", maxRetries: 0 });
const model = "text-embedding-3-small";
const drawing = { model: "gpt-image-2", prompt: "otter" };
const [a, b, c] = ["a", "b", "c"].map((text) => fakeVector(text, 8));

afterEach(() => fake.clear());
afterAll(() => fake.close());

// `expect().rejects` does not see into the client's own kind of promise, hence the await.
const ask = async (options: { signal?: AbortSignal; maxRetries?: number } = {}) =>
  await openai.embeddings.create({ model, input: ["a", "b", "c"], dimensions: 8 }, options);

const post = (body: unknown, path = "/embeddings") =>
  fetch(fake.url + path, {
    method: "POST",
    headers: { authorization: "Bearer sk-fake" },
    body: JSON.stringify(body),
  });

interface Vectors {
  readonly data: { readonly index: number; readonly embedding: string | (number | null)[] }[];
  readonly usage?: object;
}
const faulty = async (fault: InjectedFault, encoding_format = "base64"): Promise<Vectors> => {
  fake.script(fault);
  const response = await post({ model, input: ["a", "b", "c"], dimensions: 8, encoding_format });
  return (await response.json()) as Vectors;
};
const floats = (embedding: unknown): Float32Array =>
  new Float32Array(new Uint8Array(Buffer.from(String(embedding), "base64")).buffer);

test("scripts apply in order, as often as configured, and only to requests that match", async () => {
  fake.script({ fail: "overloaded" }, { times: 2 });
  fake.script({ fail: "rate-limit", retryAfter: 3, retryAfterMs: 2500 });
  fake.script({ fail: "quota" }, { when: (request) => request.path.endsWith("/edits") });
  await expect(ask()).rejects.toMatchObject({ status: 503 });
  await expect(ask()).rejects.toMatchObject({ code: "server_is_overloaded" });
  const limited = await post({});
  expect(limited.status).toBe(429);
  expect(limited.headers.get("retry-after")).toBe("3");
  expect(limited.headers.get("retry-after-ms")).toBe("2500");
  await ask();
  expect(fake.requests.map((request) => request.status)).toEqual([503, 503, 429, 200]);
});

test("the client's retry succeeds after an injected fault", async () => {
  fake.script({ fail: "html", retryAfterMs: 1 });
  expect((await ask({ maxRetries: 1 })).data).toHaveLength(3);
  expect(fake.requests[1]!.headers["x-stainless-retry-count"]).toBe("1");
});

test("a script can return too few or too many vectors, or vectors out of order", async () => {
  expect((await faulty({ vectors: "missing" })).data).toHaveLength(2);
  expect((await faulty({ vectors: "extra" })).data).toHaveLength(4);
  const shuffled = await faulty({ vectors: "shuffled" });
  expect(shuffled.data.map((row) => row.index)).toEqual([2, 1, 0]);
  expect(floats(shuffled.data[0]!.embedding)).toEqual(c!);
  const renumbered = await faulty({ vectors: "wrong-index" });
  expect(renumbered.data.map((row) => row.index)).toEqual([2, 1, 0]);
  expect(floats(renumbered.data[0]!.embedding)).toEqual(a!);
});

test("a script can return vectors that are not numbers, zero, short, or in another encoding", async () => {
  expect(floats((await faulty({ vectors: "nan" })).data[2]!.embedding)[4]).toBeNaN();
  expect((await faulty({ vectors: "nan" }, "float")).data[2]!.embedding[4]).toBeNull();
  await expect(faulty({ vectors: "nan-literal" })).rejects.toThrow();
  const zero = await faulty({ vectors: "zero" });
  expect(floats(zero.data[2]!.embedding)).toEqual(new Float32Array(8));
  const short = await faulty({ vectors: "wrong-dimensions" });
  expect(floats(short.data[0]!.embedding)).toHaveLength(7);
  expect((await faulty({ vectors: "float" })).data[1]!.embedding).toHaveLength(8);
  expect(floats((await faulty({ vectors: "base64" }, "float")).data[1]!.embedding)).toEqual(b!);
  expect((await faulty({ usage: "absent" })).usage).toBeUndefined();
});

test("a script can compress responses in every encoding that clients accept", async () => {
  for (const encoding of ["gzip", "br", "zstd", "deflate"] as const)
    expect((await faulty({ encoding, vectors: "shuffled" })).data).toHaveLength(3);
  await expect(faulty({ encoding: "mislabeled" })).rejects.toThrow();
});

test("a script can return a truncated, empty, non-JSON or huge document", async () => {
  await expect(faulty({ body: "truncated" })).rejects.toThrow();
  expect(await faulty({ body: "empty" })).toBeNull(); // Bun reads an empty response as null.
  fake.script({ body: "html" });
  expect((await post({})).headers.get("content-type")).toStartWith("text/html");
  fake.script({ huge: 3_000_000 });
  const huge = await (await post({ model, input: "a" })).text();
  expect(huge.length).toBeGreaterThan(3_000_000);
  expect(JSON.parse(huge)).toMatchObject({ object: "list" });
});

/** One raw request: the received bytes, and how the connection ended. */
const raw = (fault: InjectedFault, path = "/embeddings", query: object = { model, input: "a" }) =>
  new Promise<{ text: string; how: string }>((resolve) => {
    fake.script(fault);
    const body = JSON.stringify(query);
    const socket = connect(Number(new URL(fake.url).port), "127.0.0.1");
    let text = "";
    let how = "close";
    socket.on("data", (bytes) => {
      text += bytes;
    });
    socket.on("error", () => {
      how = "reset";
    });
    socket.on("close", () => resolve({ text, how }));
    const head = `host: x\r\nauthorization: Bearer sk-fake\r\ncontent-length: ${body.length}`;
    socket.write(`POST /v1${path} HTTP/1.1\r\n${head}\r\n\r\n${body}`);
  });

test.each(["reset", "close"] as const)(
  "the connection breaks at the scripted point: %s",
  async (how) => {
    expect(await raw({ [how]: "before-headers" })).toEqual({ text: "", how });
    const headers = await raw({ [how]: "mid-headers" });
    expect(headers.how).toBe(how);
    expect(headers.text).toStartWith("HTTP/1.1 200");
    expect(headers.text).not.toContain("\r\n\r\n");
    const body = await raw({ [how]: "mid-body" });
    const [head, content] = body.text.split("\r\n\r\n");
    const announced = Number(/content-length: (\d+)/.exec(head!)![1]);
    expect([body.how, content!.length]).toEqual([how, Math.floor(announced / 2)]);
    expect((await raw({ [how]: "after-body" })).text).toEndWith("}");
    expect(fake.requests.some((request) => request.aborted)).toBe(false);
    fake.script({ [how]: "mid-body" });
    await expect(ask()).rejects.toThrow();
  },
);

test("a script can hang, and disconnected clients are recorded", async () => {
  const hanging = [
    { hang: "headers" },
    { hang: "body" },
    { hang: "headers", early: true },
  ] as const;
  for (const fault of hanging) {
    fake.clear();
    fake.script(fault);
    const client = new AbortController();
    const asking = ask({ signal: client.signal });
    await fake.arrived(1);
    client.abort();
    await expect(asking).rejects.toThrow();
    while (!fake.requests[0]?.aborted) await Bun.sleep(5);
  }
  fake.clear();
  await ask();
  expect(fake.requests[0]!.aborted).toBe(false);
});

test("a script can respond before the body has arrived", async () => {
  fake.script({ early: true, fail: "too-large" });
  expect((await post("x".repeat(5_000_000))).status).toBe(413);
  expect(fake.requests[0]!.bytes).toBe(0);
});

test("a script can delay a response, or send it in small chunks", async () => {
  const started = performance.now();
  fake.script({ delayMs: 60 });
  await ask();
  expect(performance.now() - started).toBeGreaterThan(55);
  fake.script({ trickle: { bytes: 100, everyMs: 10 } });
  expect((await ask()).data).toHaveLength(3);
  expect(fake.requests[1]!.endedAt! - fake.requests[1]!.startedAt).toBeGreaterThan(30);
});

test("a script can redirect to another server", async () => {
  const other = startFake();
  fake.script({ redirect: `${other.url}/embeddings` });
  await ask().catch(() => undefined); // A redirect does not carry the key, so the other server refuses.
  expect(other.requests).toHaveLength(1);
  other.close();
});

const streamed = { ...drawing, partial_images: 2, stream: true };

const events = async (fault: InjectedFault): Promise<[string, "ended" | "failed"]> => {
  fake.script(fault);
  const stream = await openai.images.generate({ ...streamed, stream: true });
  const received: string[] = [];
  try {
    for await (const event of stream) received.push(event.type.split(".")[1]!);
  } catch {
    return [received.join(" "), "failed"];
  }
  return [received.join(" "), "ended"];
};

test("a script can cut a stream, end it early, fail it, or frame it differently", async () => {
  const partials = "partial_image partial_image";
  const all = `${partials} completed`;
  // Fetch discards received events when the connection breaks, so the events are counted on a raw connection.
  expect(await events({ stream: "cut" })).toContain("failed");
  const cut = await raw({ stream: "cut" }, "/images/generations", streamed);
  expect(cut.how).toBe("close");
  expect(cut.text.match(/"type":"image_generation.partial_image".*\n\n/g)).toHaveLength(2);
  expect(cut.text).toContain("event: image_generation.completed\n");
  expect(cut.text).not.toEndWith("\n\n\r\n");
  expect(await events({ stream: "ends-early" })).toEqual([partials, "ended"]);
  expect(await events({ stream: "error" })).toEqual([partials, "failed"]);
  expect(await events({ stream: "done" })).toEqual([all, "ended"]);
  expect(await events({ stream: "crlf" })).toEqual([all, "ended"]);
  expect(await events({ stream: "empty" })).toEqual(["", "ended"]);
  expect(await events({ trickle: { bytes: 200, everyMs: 1 } })).toEqual([all, "ended"]);
  fake.script({ stream: "json" });
  const json = await post({ ...drawing, stream: true }, "/images/generations");
  expect(json.headers.get("content-type")).toBe("application/json");
  const started = performance.now();
  await events({ eventDelayMs: 30 });
  expect(performance.now() - started).toBeGreaterThan(55);
});

test("a script can omit images, or return invalid ones", async () => {
  fake.script({ images: "missing" });
  expect((await openai.images.generate({ ...drawing, n: 2 })).data).toHaveLength(1);
  fake.script({ images: "garbage" });
  const { data } = await openai.images.generate(drawing);
  expect(Buffer.from(data![0]!.b64_json!, "base64").toString()).toStartWith("this is not");
});

test("arrived() waits for requests that have not come yet", async () => {
  const two = fake.arrived(2);
  await Promise.all([ask(), ask()]);
  await two;
  expect(fake.requests).toHaveLength(2);
});
