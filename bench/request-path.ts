/**
 * Run by `npm run report -- --path` under the coverage of `bun test`: starts a gateway in this process and sends it one
 * request, or none, as the variable REQUEST says.
 */
import { expect, test } from "bun:test";
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
  }
  await gateway.close();
  fake.close();
});
