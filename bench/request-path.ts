/**
 * Run by `npm run report -- --path` under the coverage of `bun test`: starts a gateway in this process and sends it one
 * request, or none, as the variable REQUEST says.
 */
import { expect, test } from "bun:test";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fakeImage, startFake } from "../test/fake-upstream.ts";
import { configFor, startGateway, testKey } from "../test/harness.ts";

function edit(): FormData {
  const image = fakeImage("otter", 0, { format: "png", width: 64, height: 64 });
  const form = new FormData();
  form.append("model", "gpt-image-2");
  form.append("prompt", "an otter");
  form.append("image", new Blob([image], { type: "image/png" }), "otter.png");
  return form;
}

const json = (body: object): RequestInit => ({
  headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** By name: the path and the body of the request. */
const requests: Readonly<Record<string, readonly [string, () => RequestInit]>> = {
  embedding: ["embeddings", () => json({ model: "text-embedding-3-small", input: "an otter" })],
  generation: ["images/generations", () => json({ model: "gpt-image-2", prompt: "an otter" })],
  edit: ["images/edits", () => ({ headers: { authorization: `Bearer ${testKey}` }, body: edit() })],
};

/** The size of the outbox file of a gateway. */
function outboxBytes(folder: string): number {
  const name = readdirSync(folder).find((entry) => /^outbox-.*\.log$/.test(entry));
  return name === undefined ? 0 : statSync(join(folder, name)).size;
}

/** Longer than the first run of every background task. */
const backgroundMs = 1500;

test("one request", async () => {
  const fake = startFake();
  const settings = { VEXEL_CACHE_BYTES: "10000000" };
  const gateway = startGateway({ yaml: configFor(fake.url), settings, logLevel: "error" });
  // What the gateway does in the background after its start is not part of a request.
  await Bun.sleep(backgroundMs);
  const [path, init] = requests[process.env.REQUEST ?? ""] ?? [];
  if (path && init) {
    const response = await fetch(`${gateway.baseURL}/${path}`, { method: "POST", ...init() });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    // The append of the ledger row to the outbox is counted: it precedes the last byte of the response. The drain, which
    // moves rows of many requests from the outbox into the ledger store, is not part of a request. It runs at least
    // 50 ms later, or when the gateway closes, so the test ends before that and does not close the gateway. A drain
    // empties the outbox.
    expect(outboxBytes(gateway.folder)).toBeGreaterThan(0);
  }
  rmSync(gateway.folder, { recursive: true });
});
