/** Client disconnects: the upstream request is canceled, nothing is left behind, and the ledger row says so. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fakeImage } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { startBroken, until } from "./faults-fixture.ts";

const broken = startBroken({ settings: { VEXEL_ON_DISCONNECT: "cancel" } });
const { fake, gateway } = broken;
beforeEach(() => fake.clear());
afterAll(() => broken.close());

const headers = { authorization: `Bearer ${testKey}` };
const json = { ...headers, "content-type": "application/json" };
const spooled = () => readdirSync(join(gateway.folder, "spool"));
const picture = Buffer.concat([
  fakeImage("large", 0, { format: "png", width: 64, height: 64 }),
  Buffer.alloc(700_000, 3),
]);

function form(): FormData {
  const body = new FormData();
  body.append("model", "painter");
  body.append("prompt", "an otter");
  body.append("image", new Blob([picture]), "large.png");
  return body;
}

async function expectLeft(before: number): Promise<void> {
  await until(() => fake.requests[0]?.aborted === true);
  await until(() => gateway.rows().length > before);
  expect(gateway.rows().at(-1)).toMatchObject({
    status: 499,
    error: "client_closed",
    attempts: 1,
    inputTokens: null,
    outputTokens: null,
    images: null,
  });
  await until(() => spooled().length === 0);
}

describe("a caller who leaves ends the upstream's work", () => {
  test.each<[string, string, () => RequestInit]>([
    [
      "of an embeddings call",
      "/v1/embeddings",
      () => ({ headers: json, body: JSON.stringify({ model: "vectors", input: "a" }) }),
    ],
    [
      "of a picture",
      "/v1/images/generations",
      () => ({ headers: json, body: JSON.stringify({ model: "painter", prompt: "an otter" }) }),
    ],
    [
      "of a stream that has not begun",
      "/v1/images/generations",
      () => ({
        headers: json,
        body: JSON.stringify({ model: "painter", prompt: "an otter", stream: true }),
      }),
    ],
    ["of an edit", "/v1/images/edits", () => ({ headers, body: form() })],
  ])("%s", async (_, path, init) => {
    const before = gateway.rows().length;
    fake.script({ hang: "headers" });
    const leaving = new AbortController();
    const call = fetch(`${gateway.url}${path}`, {
      method: "POST",
      ...init(),
      signal: leaving.signal,
    }).catch(() => "left");
    await fake.arrived(1);
    await Bun.sleep(50);
    leaving.abort();
    expect(await call).toBe("left");
    await expectLeft(before);
  });

  test("of an answer that has come half-way", async () => {
    const before = gateway.rows().length;
    fake.script({ hang: "body" });
    const leaving = new AbortController();
    const call = fetch(`${gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({ model: "vectors", input: "a" }),
      signal: leaving.signal,
    }).catch(() => "left");
    await fake.arrived(1);
    await Bun.sleep(50);
    leaving.abort();
    expect(await call).toBe("left");
    await expectLeft(before);
  });

  test.each(["/v1/images/generations", "/v1/images/edits"])("of a stream on %s", async (path) => {
    const before = gateway.rows().length;
    fake.script({ eventDelayMs: 10_000 });
    const leaving = new AbortController();
    const streaming = { stream: true, partial_images: 2 };
    const edit = form();
    for (const [name, value] of Object.entries(streaming)) edit.append(name, String(value));
    const response = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      ...(path.endsWith("edits")
        ? { headers, body: edit }
        : {
            headers: json,
            body: JSON.stringify({ model: "painter", prompt: "an otter", ...streaming }),
          }),
      signal: leaving.signal,
    });
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toContain("partial_image");
    leaving.abort();
    await expectLeft(before);
  });
});

describe("a caller who leaves in the middle of an upload", () => {
  test("is never heard of by the upstream, and leaves no file behind", async () => {
    const before = gateway.rows().length;
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    const head = `--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n`;
    socket.write(
      `POST /v1/images/edits HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\n` +
        `content-type: multipart/form-data; boundary=b\r\ncontent-length: 5000000\r\n\r\n${head}`,
    );
    socket.write(picture);
    // Long enough for what was sent to be on its way to the disk.
    await Bun.sleep(200);
    expect(gateway.rows()).toHaveLength(before);
    socket.resetAndDestroy();
    await until(() => gateway.rows().length > before);
    await until(() => spooled().length === 0);
    expect(gateway.rows().at(-1)).toMatchObject({ attempts: 0, upstream: null, images: null });
    expect(gateway.rows().at(-1)!.status).toBeWithin(400, 500);
    expect(fake.requests).toHaveLength(0);
  });
});

describe("callers who stay", () => {
  test("do not notice those who leave", async () => {
    fake.script(
      { hang: "headers" },
      { when: ({ json: body }) => /leave/.test(JSON.stringify(body)) },
    );
    const leaving = new AbortController();
    const ask = (input: string, signal?: AbortSignal) =>
      fetch(`${gateway.url}/v1/embeddings`, {
        method: "POST",
        headers: json,
        body: JSON.stringify({ model: "vectors", input }),
        ...(signal && { signal }),
      });
    const left = ask("leave", leaving.signal).catch(() => "left");
    const stayed = Promise.all(Array.from({ length: 8 }, (_, i) => ask(`stay ${i}`)));
    // Some of them travel together, so there are fewer calls than callers; the one that hangs is in hand all the same.
    await fake.arrived(2);
    await Bun.sleep(50);
    leaving.abort();
    expect(await left).toBe("left");
    expect((await stayed).map(({ status }) => status)).toEqual(Array(8).fill(200));
  });
});

describe("a caller who leaves while others wait for the same vector", () => {
  const shared = startBroken({ settings: { VEXEL_CACHE_BYTES: "1000000" } });
  afterAll(() => shared.close());
  const ask = (signal?: AbortSignal) =>
    fetch(`${shared.gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({ model: "vectors", input: "the same" }),
      ...(signal && { signal }),
    });

  test("does not make them ask for it again, and the row of its call says what was paid", async () => {
    shared.fake.script({ delayMs: 600 });
    const leaving = new AbortController();
    const left = ask(leaving.signal).catch(() => "left");
    await shared.fake.arrived(1);
    const others = [ask(), ask()];
    await Bun.sleep(150);
    leaving.abort();
    expect(await left).toBe("left");
    for (const other of others) expect((await other).status).toBe(200);
    expect(shared.fake.requests).toHaveLength(1);
    expect(shared.fake.requests[0]?.aborted).not.toBe(true);
    await until(() => shared.gateway.rows().length === 3);
    const paid = shared.gateway.rows().filter(({ upstreamTokens }) => upstreamTokens !== 0);
    expect(paid).toHaveLength(1);
    expect(paid[0]).toMatchObject({ attempts: 1, cachedInputs: 0 });
    expect(paid[0]?.upstreamTokens).toBeGreaterThan(0);
  });
});
