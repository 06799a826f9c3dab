/** An answered call is in the ledger, even if the gateway is killed the moment after. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, readLedger, startProcess, temporaryFolder } from "../harness.ts";
import { bearer, embeddingModel, imageModel, png, until } from "../http/gateway-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());

type Ask = (url: string) => Promise<Response>;
const json = (path: string, body: object): Ask => {
  const text = JSON.stringify(body);
  const headers = { ...bearer, "content-type": "application/json" };
  return (url) => fetch(`${url}${path}`, { method: "POST", headers, body: text });
};
const edit: Ask = (url) => {
  const form = new FormData();
  for (const [name, value] of [
    ["model", imageModel],
    ["prompt", "a hat"],
  ] as const)
    form.append(name, value);
  form.append("image", new Blob([png]), "a.png");
  return fetch(`${url}/v1/images/edits`, { method: "POST", headers: bearer, body: form });
};
const picture = { model: imageModel, prompt: "an otter", size: "1024x1024" };
const calls: readonly Ask[] = [
  json("/v1/embeddings", { model: embeddingModel, input: "a" }),
  json("/v1/embeddings", {
    model: embeddingModel,
    input: ["a", "b", "c"],
    encoding_format: "base64",
  }),
  json("/v1/embeddings", { model: "nobody", input: "a" }),
  json("/v1/images/generations", picture),
  json("/v1/images/generations", { ...picture, stream: true, partial_images: 2 }),
  edit,
];

/** One call after the other until the gateway is gone. Gathers the ids of whole answers. */
async function callUntilDead(url: string, first: number, answered: string[]): Promise<void> {
  for (let at = first; ; at++) {
    try {
      const response = await calls[at % calls.length]!(url);
      const text = await response.text();
      // A stream that was cut off is no answer; a whole one ends with its last event.
      const whole = !text.startsWith("event:") || text.includes(".completed");
      if (whole && text !== "") answered.push(response.headers.get("x-request-id")!);
    } catch {
      return;
    }
  }
}

test.each([1, 2, 3, 4, 5])("killed at a random moment under load, round %d", async () => {
  using folder = temporaryFolder();
  const gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url) });
  const answered: string[] = [];
  const callers = Array.from({ length: 16 }, (_, at) => callUntilDead(gateway.url, at, answered));
  await until(() => answered.length > 60);
  await Bun.sleep(Math.random() * 200);
  gateway.kill("SIGKILL");
  await Promise.all([gateway.exited, ...callers]);
  const rows = new Set(readLedger(join(folder.path, "data")).map(({ requestId }) => requestId));
  expect(answered.filter((id) => !rows.has(id))).toEqual([]);
});

test("a gateway that is started again goes on with the same ledger", async () => {
  using folder = temporaryFolder();
  const ids: string[] = [];
  for (let start = 0; start < 3; start++) {
    const gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url) });
    for (let i = 0; i < 3; i++) {
      const response = await calls[0]!(gateway.url);
      await response.text();
      ids.push(response.headers.get("x-request-id")!);
    }
    gateway.kill("SIGKILL");
    await gateway.exited;
  }
  expect(readLedger(join(folder.path, "data")).map(({ requestId }) => requestId)).toEqual(ids);
});
