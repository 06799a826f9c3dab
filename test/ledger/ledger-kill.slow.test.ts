/** Durability: a request whose response was sent has a ledger row, even if the gateway is killed right after. */

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { scaled } from "../depth.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, readLedger, startProcess, temporaryFolder } from "../harness.ts";
import { bearer, editForm, embeddingModel, imageModel } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";

const fake = startFake();
afterAll(() => fake.close());

type SendRequest = (url: string) => Promise<Response>;
const json = (path: string, body: object): SendRequest => {
  const text = JSON.stringify(body);
  const headers = { ...bearer, "content-type": "application/json" };
  return (url) => fetch(`${url}${path}`, { method: "POST", headers, body: text });
};
const edit: SendRequest = (url) =>
  fetch(`${url}/v1/images/edits`, { method: "POST", headers: bearer, body: editForm() });
const generation = { model: imageModel, prompt: "an otter", size: "1024x1024" };
const requests: readonly SendRequest[] = [
  json("/v1/embeddings", { model: embeddingModel, input: "a" }),
  json("/v1/embeddings", {
    model: embeddingModel,
    input: ["a", "b", "c"],
    encoding_format: "base64",
  }),
  json("/v1/embeddings", { model: "unknown-model", input: "a" }),
  json("/v1/images/generations", generation),
  json("/v1/images/generations", { ...generation, stream: true, partial_images: 2 }),
  edit,
];

/** Sends requests one after the other until the gateway is gone, and collects the IDs of complete responses. */
async function sendUntilKilled(url: string, first: number, completed: string[]): Promise<void> {
  for (let at = first; ; at++) {
    try {
      const response = await requests[at % requests.length]!(url);
      const text = await response.text();
      // A truncated stream is not a response; a complete one ends with its last event.
      const isComplete = !text.startsWith("event:") || text.includes(".completed");
      if (isComplete && text !== "") completed.push(response.headers.get("x-request-id")!);
    } catch {
      return;
    }
  }
}

test.each(Array.from({ length: scaled(3) }, (_, at) => at + 1))(
  "every response sent before a kill at a random time under load has its row, round %d",
  async () => {
    using folder = temporaryFolder();
    const gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url) });
    const completed: string[] = [];
    const clients = Array.from({ length: 16 }, (_, at) =>
      sendUntilKilled(gateway.url, at, completed),
    );
    await until(() => completed.length > 60);
    await Bun.sleep(Math.random() * 200);
    gateway.kill("SIGKILL");
    await Promise.all([gateway.exited, ...clients]);
    const rows = new Set(readLedger(join(folder.path, "data")).map(({ requestId }) => requestId));
    expect(completed.filter((id) => !rows.has(id))).toEqual([]);
  },
);

test("a restarted gateway continues the same ledger", async () => {
  using folder = temporaryFolder();
  const ids: string[] = [];
  for (let start = 0; start < 2; start++) {
    const gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url) });
    for (let i = 0; i < 3; i++) {
      const response = await requests[0]!(gateway.url);
      await response.text();
      ids.push(response.headers.get("x-request-id")!);
    }
    await gateway.close();
  }
  expect(readLedger(join(folder.path, "data")).map(({ requestId }) => requestId)).toEqual(ids);
});
