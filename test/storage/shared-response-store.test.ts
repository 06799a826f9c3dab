/** Responses that replicas share: after an error, the shared storage gets no requests for a while. */
import { expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { StoredResponse } from "../../server/storage/ports/response-store.ts";
import { SharedResponseStore } from "../../server/storage/shared-response-store.ts";

test("the shared storage is used again five seconds after an error, by the monotonic clock", async () => {
  let [monotonicMs, asked, isUp] = [0, 0, false];
  const stored: StoredResponse = {
    requestId: "req_1",
    fingerprint: "f",
    headers: {},
    length: 0,
    async *open() {},
  };
  const unused = () => Promise.reject(new Error("not called"));
  const store = new SharedResponseStore({
    local: {
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
