/**
 * The image jobs of every vendor whose API is a queue: another process polls the vendor's job from what is stored of
 * it, and sends no second request that is paid for.
 */
import { afterAll, expect, test } from "bun:test";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { PendingOperation } from "../../server/upstream/adapter.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import { createUpstreamClient } from "../../server/upstream/client.ts";
import type { ImageResponse } from "../../server/upstream/contract.ts";
import { createCredentialCache } from "../../server/upstream/credentials/credential-cache.ts";
import type { SendRecord } from "../../server/upstream/poll-operation.ts";
import { createTransport } from "../../server/upstream/transport/index.ts";
import type { FakeVendor } from "../image-vendors/image-vendor.ts";
import { upstreamOf } from "../image-vendors/law-gateway.ts";
import { serveVendor } from "../image-vendors/serve-vendor.ts";
import { fakeVendors } from "../image-vendors/vendors/index.ts";
import { query } from "../upstream/image-adapter-fixture.ts";

const transport = createTransport({
  maxResponseBytes: 100_000_000,
  clock: () => performance.now(),
  fetchOnly: { http: false, https: false },
});
afterAll(() => transport.close());

/** Ends the first process when the vendor has accepted the job. */
class Crash extends Error {}

/** A new client for each call, as each process has one: nothing is remembered but `line`. */
function generate(vendor: FakeVendor, origin: string, line: SendRecord): Promise<ImageResponse> {
  const { send } = transport;
  const now = Date.now;
  return createUpstreamClient({
    adapters,
    builtInModels: new Map(),
    send,
    credentials: createCredentialCache({ send, now, env: {} }),
    now,
  }).generations({
    query: query(),
    target: { model: vendor.model, upstream: upstreamOf(vendor, origin) },
    signal: () => new AbortController().signal,
    temp: noRequestTemp,
    context: { caller: undefined, line },
  });
}

const recordOf = (more: Partial<SendRecord>): SendRecord => ({
  keepsUpstreamOperation: true,
  beforeSend: async () => {},
  onUpstreamOperation: async () => {},
  takeUpstreamOperation: () => undefined,
  ...more,
});

/** What a process stores of the vendor's job before it crashes. */
async function storedJob(vendor: FakeVendor, origin: string): Promise<string> {
  let stored: string | undefined;
  const line = recordOf({
    onUpstreamOperation: async (_, job) => {
      stored = JSON.stringify(job);
      throw new Crash();
    },
  });
  await generate(vendor, origin, line).catch((error: unknown) => {
    if (!(error instanceof Crash)) throw error;
  });
  if (stored === undefined) throw new Error("the vendor responded without a job");
  return stored;
}

/** Each kind whose API is a queue, by a vendor that queues every request. */
const queues: readonly string[] = [
  "bfl-flux-2",
  "dashscope-wan2.2",
  "fal-flux",
  "fireworks-kontext",
  "luma-photon",
  "luma-uni",
  "replicate-flux-schnell",
  "router-fal-ai",
  "router-replicate",
  "router-wavespeed",
  "runway-gen4",
  "wavespeed",
];

for (const name of queues) {
  test.concurrent(`${name}: the next process polls the vendor's job, which is paid for once`, async () => {
    const vendor = fakeVendors.find((each) => each.name === name);
    if (!vendor) throw new Error(`there is no fake of ${name}`);
    const server = serveVendor(vendor);
    const fake = server.open();
    try {
      const job = JSON.parse(await storedJob(vendor, server.origin)) as PendingOperation;
      const line = recordOf({
        takeUpstreamOperation: () => job,
        beforeSend: () => Promise.reject(new Error("a second request would be paid for")),
      });
      const response = await generate(vendor, server.origin, line);
      expect(response).toMatchObject({ kind: "buffered", results: [expect.anything()] });
      expect(fake.generator.requests).toHaveLength(1);
    } finally {
      server.close();
    }
  });
}
