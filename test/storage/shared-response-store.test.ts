/** Responses that replicas share: after an error, the shared storage gets no requests for a while. */
import { expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { StoredResponse } from "../../server/storage/ports/response-store.ts";
import { SharedResponseStore } from "../../server/storage/shared-response-store.ts";

const stored: StoredResponse = {
  requestId: "req_1",
  fingerprint: "f",
  headers: {},
  length: 0,
  async *open() {},
};
const unused = () => Promise.reject(new Error("not called"));

test("the shared storage is used again five seconds after an error, by the monotonic clock", async () => {
  let [monotonicMs, asked, isUp] = [0, 0, false];
  const store = new SharedResponseStore({
    local: {
      ensureSpace: () => undefined,
      begin: () => ({ append: unused, commit: unused, discard: unused }),
      find: async () => undefined,
    },
    shared: {
      find: async () => {
        asked++;
        if (isUp) return stored;
        throw new GatewayError("storage_unavailable", "unreachable");
      },
      copy: unused,
      name: unused,
      sweep: unused,
    },
    clock: () => monotonicMs,
    reportUnshared: () => undefined,
  });
  expect(await store.find("name")).toBeUndefined();
  isUp = true;
  monotonicMs += 4999;
  expect(await store.find("name")).toBeUndefined();
  expect(asked).toBe(1);
  monotonicMs += 1;
  expect(await store.find("name")).toEqual(stored);
});

test("a response that the data folder has is read from there, unless another replica has stored a later one", async () => {
  let shared = { ...stored, fingerprint: "shared" };
  const local = { ...stored, fingerprint: "local" };
  const store = new SharedResponseStore({
    local: {
      ensureSpace: () => undefined,
      begin: () => ({ append: unused, commit: unused, discard: unused }),
      find: async () => local,
    },
    shared: { find: async () => shared, copy: unused, name: unused, sweep: unused },
    clock: () => 0,
    reportUnshared: () => undefined,
  });
  expect(await store.find("name")).toBe(local);
  shared = { ...shared, requestId: "req_2" };
  expect(await store.find("name")).toBe(shared);
});

test("a response that the shared storage refuses is in the data folder", async () => {
  const reported: unknown[] = [];
  const done = async (): Promise<void> => undefined;
  const readOnly = new Error("cannot execute INSERT in a read-only transaction");
  const store = new SharedResponseStore({
    local: {
      ensureSpace: () => undefined,
      begin: () => ({ append: () => undefined, commit: done, discard: unused }),
      find: async () => stored,
    },
    shared: {
      find: async () => undefined,
      copy: () => Promise.reject(readOnly),
      name: unused,
      sweep: unused,
    },
    clock: () => 0,
    reportUnshared: (error) => reported.push(error),
  });
  await store.begin("key_1").commit(["name"], stored);
  expect(reported).toEqual([readOnly]);
  expect(await store.find("name")).toBe(stored);
});
