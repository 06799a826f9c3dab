/** Client disconnects: the upstream request is canceled, nothing is left behind, and the ledger row says so. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fakeImage } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";
import { startFaultSetup } from "./faults-fixture.ts";

const setup = startFaultSetup({ imageOptions: " onDisconnect: cancel," });
const { fake, gateway } = setup;
beforeEach(() => fake.clear());
afterAll(() => setup.close());

const headers = { authorization: `Bearer ${testKey}` };
const json = { ...headers, "content-type": "application/json" };
const tempFiles = () => readdirSync(join(gateway.folder, "temp"));
const image = Buffer.concat([
  fakeImage("large", 0, { format: "png", width: 64, height: 64 }),
  Buffer.alloc(700_000, 3),
]);

function form(): FormData {
  const body = new FormData();
  body.append("model", "image-model");
  body.append("prompt", "an otter");
  body.append("image", new Blob([image]), "large.png");
  return body;
}

async function expectCanceled(before: number): Promise<void> {
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
  await until(() => tempFiles().length === 0);
}

describe("a client disconnect cancels the upstream request", () => {
  const jsonOf = (body: object): RequestInit => ({ headers: json, body: JSON.stringify(body) });
  const embeddings = jsonOf({ model: "vectors", input: "a" });
  const image = { model: "image-model", prompt: "an otter" };
  const generations = "/v1/images/generations";

  test.each<[string, "headers" | "body", string, () => RequestInit]>([
    ["of an embeddings request", "headers", "/v1/embeddings", () => embeddings],
    ["whose response was received in part", "body", "/v1/embeddings", () => embeddings],
    ["of an image request", "headers", generations, () => jsonOf(image)],
    [
      "of a stream that has not started",
      "headers",
      generations,
      () => jsonOf({ ...image, stream: true }),
    ],
    ["of an edit", "headers", "/v1/images/edits", () => ({ headers, body: form() })],
  ])("%s", async (_, hang, path, init) => {
    const before = gateway.rows().length;
    fake.script({ hang });
    const disconnect = new AbortController();
    const request = fetch(`${gateway.url}${path}`, {
      method: "POST",
      ...init(),
      signal: disconnect.signal,
    }).catch(() => "left");
    await fake.arrived(1);
    await Bun.sleep(50);
    disconnect.abort();
    expect(await request).toBe("left");
    await expectCanceled(before);
  });

  test.each(["/v1/images/generations", "/v1/images/edits"])("of a stream on %s", async (path) => {
    const before = gateway.rows().length;
    fake.script({ eventDelayMs: 10_000 });
    const disconnect = new AbortController();
    const streaming = { stream: true, partial_images: 2 };
    const edit = form();
    for (const [name, value] of Object.entries(streaming)) edit.append(name, String(value));
    const response = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      ...(path.endsWith("edits") ? { headers, body: edit } : jsonOf({ ...image, ...streaming })),
      signal: disconnect.signal,
    });
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toContain("partial_image");
    disconnect.abort();
    await expectCanceled(before);
  });
});

describe("a client disconnect during an upload", () => {
  test("sends nothing to the upstream, and leaves no file behind", async () => {
    const before = gateway.rows().length;
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    const head = `--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n`;
    socket.write(
      `POST /v1/images/edits HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testKey}\r\n` +
        `content-type: multipart/form-data; boundary=b\r\ncontent-length: 5000000\r\n\r\n${head}`,
    );
    socket.write(image);
    // Long enough for the sent bytes to be spilled to disk.
    await Bun.sleep(200);
    expect(gateway.rows()).toHaveLength(before);
    socket.resetAndDestroy();
    await until(() => gateway.rows().length > before);
    await until(() => tempFiles().length === 0);
    expect(gateway.rows().at(-1)).toMatchObject({ attempts: 0, upstream: null, images: null });
    expect(gateway.rows().at(-1)!.status).toBeWithin(400, 500);
    expect(fake.requests).toHaveLength(0);
  });
});

describe("other clients", () => {
  test("are not affected by a disconnect", async () => {
    fake.script(
      { hang: "headers" },
      { when: ({ json: body }) => /leave/.test(JSON.stringify(body)) },
    );
    const disconnect = new AbortController();
    const send = (input: string, signal?: AbortSignal) =>
      fetch(`${gateway.url}/v1/embeddings`, {
        method: "POST",
        headers: json,
        body: JSON.stringify({ model: "vectors", input }),
        ...(signal && { signal }),
      });
    const disconnected = send("leave", disconnect.signal).catch(() => "left");
    const others = Promise.all(Array.from({ length: 8 }, (_, i) => send(`stay ${i}`)));
    // Some of them share a batch, so there are fewer upstream requests than clients; the hanging one is in flight in
    // any case.
    await fake.arrived(2);
    await Bun.sleep(50);
    disconnect.abort();
    expect(await disconnected).toBe("left");
    expect((await others).map(({ status }) => status)).toEqual(Array(8).fill(200));
  });
});

describe("a client disconnect while others wait for the same vector (single-flight)", () => {
  const shared = startFaultSetup({ settings: { VEXEL_CACHE_BYTES: "1000000" } });
  afterAll(() => shared.close());
  const send = (signal?: AbortSignal) =>
    fetch(`${shared.gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({ model: "vectors", input: "the same" }),
      ...(signal && { signal }),
    });

  test("cancels the upstream request, and the others share a second one", async () => {
    shared.fake.script({ hang: "headers" });
    const disconnect = new AbortController();
    const disconnected = send(disconnect.signal).catch(() => "left");
    await shared.fake.arrived(1);
    const others = [send(), send()];
    await Bun.sleep(150);
    disconnect.abort();
    expect(await disconnected).toBe("left");
    for (const other of others) expect((await other).status).toBe(200);
    expect(shared.fake.requests).toHaveLength(2);
    expect(shared.fake.requests[0]?.aborted).toBe(true);
    await until(() => shared.gateway.rows().length === 3);
    const rows = shared.gateway.rows();
    expect(rows.filter(({ error }) => error === "client_closed")).toHaveLength(1);
    expect(rows.filter(({ upstreamTokens }) => (upstreamTokens ?? 0) > 0)).toHaveLength(1);
  });
});
