/**
 * The idempotency store: its bounds, and races of waiters, disconnects and failures that happen at the same moment.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  type Claim,
  IdempotencyStore,
  maxUndelivered,
  UndeliveredResponses,
} from "../../server/idempotency/idempotency-store.ts";
import { IdempotentRequest } from "../../server/idempotency/idempotent-request.ts";
import type { ClaimOptions } from "../../server/idempotency/in-flight-request.ts";
import type { IncomingRequest } from "../../server/request/http-types.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import { ResponseFiles } from "../../server/storage/files/response-files.ts";
import type { ResponseStore, StoredResponse } from "../../server/storage/ports/response-store.ts";
import type { ClaimOutcome } from "../../server/storage/redis/request-claims.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";
import { until } from "../until.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const createResponseFiles = (maxBytes = 10_000, now = () => Date.now()) =>
  new ResponseFiles({
    folder: join(folder.path, crypto.randomUUID()),
    ttlMs: 60_000,
    maxBytes,
    disk: unlimitedDisk,
    now,
  });
const failOnReport = (error: unknown): void => {
  throw error;
};
const { signal } = new AbortController();
const claimOptions = (idempotencyKey: string): ClaimOptions => ({
  owner: "key_1",
  requestId: `req_${idempotencyKey}`,
  idempotencyKey,
  fingerprint: async () => "the same",
  signal,
});
const withoutKey = (name: string, fingerprint: ClaimOptions["fingerprint"]): ClaimOptions => {
  const { idempotencyKey: _, ...options } = claimOptions(name);
  return { ...options, fingerprint };
};
async function startRequest(store: IdempotencyStore, options: ClaimOptions) {
  const claim = await store.claim(options);
  if (claim.kind !== "proceed") throw new Error("expected a new request");
  return claim.request;
}

describe("waiters", () => {
  test("retry a request that was not billed one at a time, and get the response of the one that succeeds", async () => {
    const store = new IdempotencyStore(createResponseFiles(), failOnReport);
    const first = await startRequest(store, claimOptions("duplicates"));
    const claims: Claim[] = [];
    const waiting = Array.from({ length: 4 }, (_, at) =>
      store
        .claim({ ...claimOptions("duplicates"), requestId: `req_${at}` })
        .then((request) => claims.push(request)),
    );
    await Bun.sleep(20);
    expect(claims).toHaveLength(0);
    await first.release();
    await until(() => claims.length > 0);
    await Bun.sleep(20);
    expect(claims.map(({ kind }) => kind)).toEqual(["proceed"]);
    const [second] = claims;
    if (second?.kind !== "proceed") throw new Error("expected one waiter to proceed");
    second.request.append("{}");
    await second.request.store({});
    await Promise.all(waiting);
    expect(claims.map(({ kind }) => kind)).toEqual(["proceed", "replay", "replay", "replay"]);
  });

  test("get an error instead of a second bill when there was no space to store the response", async () => {
    const reports: unknown[] = [];
    const store = new IdempotencyStore(createResponseFiles(100), (error) => reports.push(error));
    const first = await startRequest(store, claimOptions("large"));
    const waiting = [1, 2, 3].map(() => store.claim(claimOptions("large")));
    await Bun.sleep(20);
    first.append("x".repeat(200));
    await first.store({});
    for (const request of await Promise.all(waiting)) {
      expect(request).toMatchObject({ kind: "failed", error: { kind: "storage_unavailable" } });
    }
    expect(reports).toHaveLength(1);
    expect((await store.claim(claimOptions("large"))).kind).toBe("proceed");
  });
});

test("a claim that replicas share is released if the stored responses cannot be read", async () => {
  let lookups = 0;
  const outcomes: ClaimOutcome[] = [];
  const settle = async (outcome: ClaimOutcome): Promise<void> => void outcomes.push(outcome);
  const responses: ResponseStore = {
    ensureSpace: () => undefined,
    begin: () => createResponseFiles().begin("key_1"),
    find: async () => {
      if (++lookups === 2) throw new Error("EIO: i/o error, open");
      return undefined;
    },
  };
  const store = new IdempotencyStore(responses, failOnReport, {
    claim: async () => ({ kind: "claimed", settle }),
  });
  await expect(store.claim(claimOptions("unreadable"))).rejects.toThrow("EIO");
  expect(outcomes).toEqual([{ kind: "released" }]);
  expect((await store.claim(claimOptions("unreadable"))).kind).toBe("proceed");
});

test("a response that another replica stored before the claim is not replayed to a different request", async () => {
  let lookups = 0;
  const outcomes: ClaimOutcome[] = [];
  const settle = async (outcome: ClaimOutcome): Promise<void> => void outcomes.push(outcome);
  const stored: StoredResponse = {
    requestId: "req_earlier",
    fingerprint: "another",
    headers: {},
    length: 2,
    open: async function* () {
      yield Buffer.from("{}");
    },
  };
  const responses: ResponseStore = {
    ensureSpace: () => undefined,
    begin: () => createResponseFiles().begin("key_1"),
    find: async () => (++lookups === 1 ? undefined : stored),
  };
  const store = new IdempotencyStore(responses, failOnReport, {
    claim: async () => ({ kind: "claimed", settle }),
  });
  const claim = store.claim(claimOptions("reused"));
  await expect(claim).rejects.toMatchObject({ kind: "idempotency_mismatch" });
  expect(outcomes).toEqual([{ kind: "stored" }]);
});

describe("a client that disconnects", () => {
  test("while its request fails does not block an identical request", async () => {
    const store = new IdempotencyStore(createResponseFiles(), failOnReport);
    const reading = Promise.withResolvers<string>();
    const request = await startRequest(
      store,
      withoutKey("fails", () => reading.promise),
    );
    const detaching = request.detach();
    await request.release();
    reading.resolve("the same");
    await detaching;
    expect(await store.findById("key_1", "req_fails")).toBeUndefined();
    expect((await store.claim(withoutKey("again", async () => "the same"))).kind).toBe("proceed");
  });

  test("at the last chunk of a stream finds the whole stream by its request ID, although the uploads are already deleted", async () => {
    const store = new IdempotencyStore(createResponseFiles(), failOnReport);
    let areDeleted = false;
    const file = {
      field: "image",
      size: 1,
      stream: async function* () {
        if (areDeleted) throw new Error("the upload is deleted");
        yield new Uint8Array(1);
      },
    };
    const requestId = "req_last";
    const incoming = { requestId, headers: new Headers(), signal } as unknown as IncomingRequest;
    const idempotentRequest = new IdempotentRequest({
      store,
      incoming,
      record: new RequestRecord(requestId, "edits", 0),
      query: { model: "m", prompt: "p", images: [{ kind: "file", file }], files: [] },
      finishOnDisconnect: true,
      retryPaid: false,
    });
    await idempotentRequest.claim();
    async function* body(): AsyncGenerator<string> {
      yield "first ";
      await idempotentRequest.onStreamEnd(undefined, 1);
      areDeleted = true;
      yield "last";
    }
    const chunks = idempotentRequest.recordStream(body(), {})[Symbol.asyncIterator]();
    await chunks.next();
    await chunks.next();
    await chunks.return?.();
    let found = await store.findById("", requestId);
    for (
      ;
      found === undefined || found === "in_progress";
      found = await store.findById("", requestId)
    ) {
      await Bun.sleep(5);
    }
    expect(Buffer.concat(await Array.fromAsync(found.open())).toString()).toBe("first last");
  });

  test("loses only the stored response when its upload cannot be read again", async () => {
    const reports: unknown[] = [];
    const store = new IdempotencyStore(createResponseFiles(), (error) => reports.push(error));
    const deletedFile = () => Promise.reject(new Error("the file is deleted"));
    const request = await startRequest(store, withoutKey("gone", deletedFile));
    await request.detach();
    request.append("{}");
    await request.store({});
    expect(request.isSettled).toBe(true);
    expect(await store.findById("key_1", "req_gone")).toBeUndefined();
    expect(reports.length).toBeGreaterThan(0);
  });
});

describe("a response", () => {
  test("is found by the first 512 characters of a long client request ID", async () => {
    const store = new IdempotencyStore(createResponseFiles(), failOnReport);
    const clientRequestId = "i".repeat(600);
    const request = await startRequest(store, {
      ...claimOptions("long"),
      clientRequestId,
    });
    request.append("{}");
    await request.store({});
    expect(await store.findById("key_1", clientRequestId)).toMatchObject({ requestId: "req_long" });
    expect(await store.findById("key_1", clientRequestId.slice(0, 512))).toBeDefined();
    expect(await store.findById("key_1", clientRequestId.slice(0, 511))).toBeUndefined();
  });

  test("that was found just before it expired can still be read", async () => {
    let now = Date.now();
    const responses = createResponseFiles(10_000, () => now);
    const store = new IdempotencyStore(responses, failOnReport);
    const request = await startRequest(store, claimOptions("late"));
    request.append("{}");
    await request.store({});
    const found = await store.findById("key_1", "req_late");
    if (found === undefined || found === "in_progress") throw new Error("it was kept");
    now += 61_000;
    await responses.sweep();
    expect(Buffer.concat(await Array.fromAsync(found.open())).toString()).toBe("{}");
    expect(await store.findById("key_1", "req_late")).toBeUndefined();
  });
});

describe("the bounds of the store:", () => {
  test("no part of a response that exceeds its space is stored, and a retry is told that the images are billed", async () => {
    const reports: unknown[] = [];
    const store = new IdempotencyStore(createResponseFiles(1000), (error) => reports.push(error));
    const request = await startRequest(store, claimOptions("a"));
    for (const length of [600, 600, 10]) request.append("x".repeat(length));
    await request.store({});
    expect(reports).toHaveLength(1);
    await expect(store.claim(claimOptions("a"))).rejects.toThrow(
      "may have been generated and billed",
    );
  });

  test("the share of an API key is the same after a restart", async () => {
    const options = {
      folder: join(folder.path, crypto.randomUUID()),
      ttlMs: 60_000,
      maxBytes: 100_000,
      disk: unlimitedDisk,
      now: Date.now,
    };
    const writer = new ResponseFiles(options).begin("key_1");
    writer.append("x".repeat(70_000));
    await writer.commit(["a"], { requestId: "req_1", fingerprint: "f", headers: {} });
    const restarted = new ResponseFiles(options);
    await restarted.sweep();
    expect(() => restarted.ensureSpace("key_1")).toThrow("VEXEL_RESPONSES_MAX_BYTES");
    restarted.ensureSpace("key_2");
  });

  test("small responses count against its space, so that their number is bounded", async () => {
    const store = new IdempotencyStore(createResponseFiles(), failOnReport);
    let refused = 0;
    for (let at = 0; at < 100; at++) {
      try {
        const request = await startRequest(store, claimOptions(`small ${at}`));
        request.append("{}");
        await request.store({});
      } catch (error) {
        expect(error).toMatchObject({ kind: "storage_unavailable" });
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(50);
  });

  test("the number of undelivered responses is bounded, and owners without any need no lookup", () => {
    const responses = new UndeliveredResponses();
    const names = Array.from({ length: maxUndelivered + 1 }, (_, at) => `name ${at}`);
    for (const name of names) responses.add(name, { owner: name, fingerprintName: "q" });
    expect(responses.has("name 0")).toBe(false);
    expect(responses.first("q")).toBe("name 1");
    for (const name of names) responses.remove(name);
    expect(responses.first("q")).toBeUndefined();
    expect(responses.has("name 2")).toBe(false);
  });
});

test("an identical request waits for an undelivered response that is being stored, and gets it", async () => {
  const store = new IdempotencyStore(createResponseFiles(), failOnReport);
  const fingerprint = async () => "the same";
  const first = await startRequest(store, withoutKey("1", fingerprint));
  // The response was complete and being sent; then its client disconnected.
  first.settle();
  await first.detach();
  const second = store.claim(withoutKey("2", fingerprint));
  await Bun.sleep(10);
  first.append("{}");
  await first.store({});
  expect(await second).toMatchObject({ kind: "replay", response: { requestId: "req_1" } });
});

test("an undelivered response is replayed after a lookup that failed", async () => {
  const responses = createResponseFiles();
  let fails = false;
  const store = new IdempotencyStore(
    {
      ensureSpace: () => undefined,
      begin: () => responses.begin("key_1"),
      find: async (name) => {
        if (fails) throw new Error("EIO: i/o error, open");
        return responses.find(name);
      },
    },
    failOnReport,
  );
  const claim = (requestId: string): Promise<Claim> =>
    store.claim(withoutKey(requestId, async () => "the same"));
  const request = await startRequest(
    store,
    withoutKey("undelivered", async () => "the same"),
  );
  await request.detach();
  request.append("{}");
  await request.store({});
  fails = true;
  await expect(claim("1")).rejects.toThrow("EIO");
  fails = false;
  expect(await claim("2")).toMatchObject({
    kind: "replay",
    response: { requestId: "req_undelivered" },
  });
});

test("an identical request gets an error if the undelivered response it waits for cannot be read again", async () => {
  const store = new IdempotencyStore(createResponseFiles(), failOnReport);
  const requestId = "req_unreadable";
  const query = { model: "m", prompt: "p", stream: false, options: {}, extraFields: {} };
  const createRequest = (id: string): IdempotentRequest =>
    new IdempotentRequest({
      store,
      incoming: {
        requestId: id,
        headers: new Headers(),
        signal,
      } as unknown as IncomingRequest,
      record: new RequestRecord(id, "generations", 0),
      query,
      finishOnDisconnect: true,
      retryPaid: false,
    });
  const first = createRequest(requestId);
  await first.claim();
  // The response was complete and being sent; then its client disconnected.
  await first.storeResponse("{}", {});
  const failing = Promise.withResolvers<never>();
  const unreadable = {
    length: 2,
    // biome-ignore lint/correctness/useYield: the file cannot be read.
    open: async function* () {
      await failing.promise;
    },
  } as unknown as Parameters<IdempotentRequest["storeUndelivered"]>[0];
  const storing = first.storeUndelivered(unreadable, {});
  await until(async () => (await store.findById("", requestId)) === "in_progress");
  const second = createRequest("req_waits").claim();
  const outcomes = Promise.allSettled([storing, second]);
  await Bun.sleep(10);
  failing.reject(new Error("EIO: i/o error, read"));
  expect(await outcomes).toMatchObject([
    { reason: { message: "EIO: i/o error, read" } },
    { reason: { kind: "storage_unavailable" } },
  ]);
  expect(await store.findById("", requestId)).toBeUndefined();
});
