/** However an image request ends, every resource that it holds is released, and its row is written. */

import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { IdempotencyStore } from "../../server/idempotency/idempotency-store.ts";
import { neverAborted } from "../../server/idempotency/idempotent-request.ts";
import type { ClaimOptions } from "../../server/idempotency/in-flight-request.ts";
import { LocalSlots } from "../../server/limits/concurrency-slots.ts";
import { OutboxFile } from "../../server/storage/files/outbox.ts";
import type { ResponseStore } from "../../server/storage/ports/response-store.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { MemoryBudget } from "../../server/temp-storage/request-temp.ts";
import { UnlinkedTempFile } from "../../server/temp-storage/unlinked-temp-file.ts";
import {
  bearer,
  type GatewayWithFake,
  imageModel,
  RawConnection,
  startGatewayWithFake,
} from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import { largePng, scriptedImageResponse } from "./large-image-fixture.ts";

const megabyte = 1024 * 1024;
const small = largePng(3 * megabyte);
const large = largePng(12 * megabyte);
const upload = largePng(600 * 1024);

let edge: GatewayWithFake;
/** Bytes of the memory budget that are in use. */
let budgetUsed = 0;

beforeAll(() => {
  const { tryTake, release } = MemoryBudget.prototype;
  spyOn(MemoryBudget.prototype, "tryTake").mockImplementation(function (this: MemoryBudget, bytes) {
    const accepted = tryTake.call(this, bytes);
    if (accepted) budgetUsed += bytes;
    return accepted;
  });
  spyOn(MemoryBudget.prototype, "release").mockImplementation(function (this: MemoryBudget, bytes) {
    budgetUsed -= bytes;
    release.call(this, bytes);
  });
  edge = startGatewayWithFake({
    // One slot and no queue: a slot that is not released shows in the next request.
    settings: {
      VEXEL_MAX_IMAGE_REQUESTS: "1",
      VEXEL_MAX_QUEUE: "0",
    },
    imageOptions: " onDisconnect: cancel,",
  });
});

const restores: (() => void)[] = [];
afterEach(() => {
  for (const restore of restores.splice(0)) restore();
  edge.fake.clear();
});
afterAll(async () => {
  await edge.close();
});

/** Temp files of requests that this process has open. */
const openTempFiles = (): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).includes("/temp/temp-");
    } catch {
      return false;
    }
  }).length;

const noSpace = (): Error =>
  Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

/** From the next row on. Rows before it may still be on their way from the outbox into the file. */
function failLedger(): () => void {
  const { write } = SqliteLedgerStore.prototype;
  let isFull = false;
  const spies = [
    spyOn(OutboxFile.prototype, "append").mockImplementation(() => {
      isFull = true;
      throw noSpace();
    }),
    spyOn(SqliteLedgerStore.prototype, "write").mockImplementation(function (
      this: SqliteLedgerStore,
      rows,
    ) {
      if (isFull) throw noSpace();
      return write.call(this, rows);
    }),
  ];
  const restore = () => {
    for (const spy of spies) spy.mockRestore();
  };
  restores.push(restore);
  return restore;
}

/** Each temp file is closed, and then the system reports an error. */
function failCleanUp(): void {
  const { close } = UnlinkedTempFile.prototype;
  const spy = spyOn(UnlinkedTempFile.prototype, "close").mockImplementation(async function (
    this: UnlinkedTempFile,
  ) {
    await close.call(this);
    throw new Error("EIO: i/o error, close");
  });
  restores.push(() => spy.mockRestore());
}

interface Shape {
  readonly operation: "generations" | "edits";
  readonly stream: boolean;
  readonly size: "within" | "above";
}

const shape = (operation: Shape["operation"], stream: boolean, size: Shape["size"]): Shape => ({
  operation,
  stream,
  size,
});

const shapes = [
  shape("generations", false, "within"),
  shape("generations", true, "above"),
  shape("edits", false, "above"),
  shape("edits", true, "within"),
];
function request({ operation, stream }: Shape): { path: string; init: RequestInit } {
  const path = `/v1/images/${operation}`;
  if (operation === "generations") {
    const body = JSON.stringify({
      model: imageModel,
      prompt: "an otter",
      ...(stream && { stream }),
    });
    const headers = { ...bearer, "content-type": "application/json" };
    return { path, init: { method: "POST", headers, body } };
  }
  const body = new FormData();
  body.append("model", imageModel);
  body.append("prompt", "an otter");
  if (stream) body.append("stream", "true");
  body.append("image", new Blob([upload]), "large.png");
  return { path, init: { method: "POST", headers: bearer, body } };
}

const script = ({ operation, stream, size }: Shape): void =>
  edge.fake.script({
    response: scriptedImageResponse(
      size === "above" ? large : small,
      operation === "edits" ? "image_edit" : "image_generation",
      stream,
    ),
  });

const send = (shape: Shape, more: RequestInit = {}): Promise<Response> => {
  const { path, init } = request(shape);
  return fetch(`${edge.gateway.url}${path}`, { ...init, ...more });
};

async function ledgerRecovered(): Promise<void> {
  while ((await fetch(`${edge.gateway.url}/readyz`)).status !== 200) await Bun.sleep(20);
}

async function expectReleased(rowsBefore: number): Promise<void> {
  const { gateway } = edge;
  await until(() => gateway.inFlight() === 0);
  await until(() => openTempFiles() === 0);
  await until(() => budgetUsed === 0);
  await until(() => gateway.rows().length > rowsBefore);
  expect(gateway.rows()).toHaveLength(rowsBefore + 1);
  // The only slot is free.
  edge.fake.clear();
  const next = await gateway.post("/v1/images/generations", { model: imageModel, prompt: "next" });
  expect(next.status).toBe(200);
  await next.text();
}

test.each(shapes)(
  "resources of $operation (streamed: $stream, $size the budget) are released when the ledger cannot be written",
  async (shape) => {
    const before = edge.gateway.rows().length;
    script(shape);
    const restore = failLedger();
    const response = await send(shape);
    expect(response.status).toBe(shape.stream ? 200 : 503);
    expect(await response.text()).toContain("ledger_unavailable");
    await until(() => edge.gateway.inFlight() === 0);
    expect(openTempFiles()).toBe(0);
    expect(budgetUsed).toBe(0);
    restore();
    await ledgerRecovered();
    await expectReleased(before);
  },
);

describe.each(shapes)("resources of $operation (streamed: $stream, $size the budget)", (shape) => {
  test("are released after a response that was sent", async () => {
    const before = edge.gateway.rows().length;
    script(shape);
    const response = await send(shape);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("b64_json");
    await expectReleased(before);
  });

  test("are released when the upstream fails", async () => {
    const before = edge.gateway.rows().length;
    edge.fake.script({ fail: "server-error" }, { times: 10 });
    const response = await send(shape);
    expect(response.status).toBeGreaterThanOrEqual(500);
    await response.text();
    edge.gateway.resetTargets();
    await expectReleased(before);
  });

  test("are released when the client disconnects before the upstream has responded", async () => {
    const before = edge.gateway.rows().length;
    edge.fake.script({ hang: "headers" });
    const disconnect = new AbortController();
    const sent = send(shape, { signal: disconnect.signal }).catch(() => "left");
    await edge.fake.arrived(1);
    disconnect.abort();
    expect(await sent).toBe("left");
    await expectReleased(before);
  });

  test("are released when the client disconnects while the response is sent", async () => {
    const before = edge.gateway.rows().length;
    script(shape);
    const { path, init } = request(shape);
    const { method, headers, body } = new Request(`${edge.gateway.url}${path}`, init);
    const bytes = body ? new Uint8Array(await new Response(body).arrayBuffer()) : new Uint8Array();
    const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const connection = await RawConnection.open(edge.gateway.url);
    connection.send(
      `${method} ${path} HTTP/1.1\r\nhost: gateway\r\n${lines}content-length: ${bytes.length}\r\n\r\n`,
      bytes,
    );
    await until(() => connection.received.includes("HTTP/1.1 200"));
    connection.disconnect();
    await expectReleased(before);
  });

  test("are released when releasing a file fails", async () => {
    const before = edge.gateway.rows().length;
    script(shape);
    failCleanUp();
    const response = await send(shape);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("b64_json");
    await expectReleased(before);
  });

  test("are released when the ledger cannot be written and releasing a file fails", async () => {
    const before = edge.gateway.rows().length;
    script(shape);
    failCleanUp();
    const restore = failLedger();
    expect(await (await send(shape)).text()).toContain("ledger_unavailable");
    restore();
    await ledgerRecovered();
    await expectReleased(before);
  });
});

test("a release that throws prevents neither the ledger row nor the other releases", async () => {
  const { gateway } = edge;
  const before = gateway.rows().length;
  const { release } = LocalSlots.prototype;
  let isBroken = true;
  const spy = spyOn(LocalSlots.prototype, "release").mockImplementation(function (
    this: LocalSlots,
    ...given
  ) {
    release.apply(this, given);
    if (isBroken) throw new Error("a defect in a release");
  });
  restores.push(() => spy.mockRestore());
  const response = await gateway.post("/v1/images/generations", { model: imageModel, prompt: "x" });
  expect(response.status).toBe(200);
  await response.text();
  expect(gateway.log()).toContain("a defect in a release");
  isBroken = false;
  await expectReleased(before);
});

test("a file that cannot be removed does not block concurrent duplicates", async () => {
  const responses: ResponseStore = {
    ensureSpace: () => undefined,
    begin: () => ({
      append: () => undefined,
      commit: () => Promise.reject(new Error("EIO: i/o error, write")),
      discard: () => Promise.reject(new Error("EIO: i/o error, unlink")),
    }),
    find: async () => undefined,
  };
  const failures: unknown[] = [];
  const store = new IdempotencyStore(responses, (failure) => failures.push(failure));
  const claimOf = (requestId: string): ClaimOptions => ({
    owner: "key",
    requestId,
    idempotencyKey: "once",
    fingerprint: async () => "the same request",
    signal: neverAborted,
  });
  const first = await store.claim(claimOf("first"));
  if (first.kind !== "proceed") throw new Error("The first request has nothing to wait for.");
  const second = store.claim(claimOf("second"));
  first.request.append("a response");
  await first.request.store({});
  expect(await second).toMatchObject({ kind: "failed", requestId: "first" });
  expect(failures).toHaveLength(2);
});

/**
 * The error would be thrown in this test, which has no other expectation. This test is the last one, so that it covers
 * the requests of all tests: each collection of the whole heap takes a tenth of a second.
 */
test("no request leaves a file handle to the garbage collector, whose error would end a gateway", async () => {
  for (let i = 0; i < 3; i++) {
    Bun.gc(true);
    await Bun.sleep(1);
  }
});
