/** Request temp storage: each API key has a fair share of it, and every byte is released when its file is closed. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { storeUpload } from "../../server/http/form.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { DiskReserve } from "../../server/temp-storage/disk-reserve.ts";
import { createRequestTemp, MemoryBudget } from "../../server/temp-storage/request-temp.ts";
import { TempStorage } from "../../server/temp-storage/temp-storage.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";

const storageOf = (maxBytes: number) => new TempStorage({ maxBytes, disk: unlimitedDisk });

/** Takes one byte at a time until one is refused. */
function takeAll(storage: TempStorage, keyId: string, use: "upload" | "response" = "upload") {
  const account = storage.account(keyId, use);
  for (let bytes = 0; ; bytes++) {
    try {
      account.take(1);
    } catch (error) {
      return { taken: bytes, kind: error instanceof GatewayError ? error.kind : String(error) };
    }
  }
}

describe("the temp storage share of a key", () => {
  test("is half of the free space, so that other keys find space", () => {
    const storage = storageOf(1200);
    expect(takeAll(storage, "a")).toEqual({ taken: 600, kind: "upload_limit_reached" });
    expect(takeAll(storage, "b")).toEqual({ taken: 300, kind: "upload_limit_reached" });
    expect(takeAll(storage, "c").taken).toBe(150);
    expect(storage.held).toBe(1050);
  });

  test("shrinks with each further key, and a key above its share gets nothing", () => {
    const storage = storageOf(1200);
    takeAll(storage, "a");
    takeAll(storage, "b");
    storage.release("a", 300);
    // 600 bytes are free: each key may hold 400 at most.
    expect(takeAll(storage, "b").taken).toBe(150);
    expect(takeAll(storage, "a").taken).toBe(75);
  });

  test("has a reserve for responses, which are already billed, when uploads have used up the rest", () => {
    const storage = storageOf(1000);
    expect(takeAll(storage, "a").taken).toBe(500);
    expect(takeAll(storage, "a", "response")).toEqual({ taken: 300, kind: "storage_unavailable" });
    expect(takeAll(storage, "b", "response").taken).toBeGreaterThan(100);
  });

  test("counts a reservation once, whether it is written or not", () => {
    const storage = storageOf(1000);
    const account = storage.account("a", "upload");
    account.reserve(400);
    account.take(300);
    expect(storage.held).toBe(400);
    account.cancelReservation();
    account.cancelReservation();
    expect(storage.held).toBe(300);
    account.take(50);
    account.release(350);
    expect(storage.held).toBe(0);
  });
});

test("small uploads stay in memory within the memory budget, and spill to disk beyond it", async () => {
  using folder = temporaryFolder();
  const storage = storageOf(1_000_000);
  const memory = new MemoryBudget(1500);
  const limits = { folder: folder.path, maxFileBytes: 1_000_000, memory };
  const upload = (bytes: number) => {
    const body = async function* () {
      for (let left = bytes; left > 0; left -= 100) yield Buffer.alloc(Math.min(100, left), 7);
    };
    const part = { name: "image", filename: "a.png", type: "image/png", body: body() };
    return storeUpload(part, limits, storage.account("a", "upload"));
  };
  const first = await upload(1000);
  expect(storage.held).toBe(0);
  const second = await upload(1000);
  expect(storage.held).toBe(1000);
  expect(Buffer.from(await second.part.bytes()).equals(Buffer.alloc(1000, 7))).toBeTrue();
  await first.dispose();
  await first.dispose();
  const third = await upload(1000);
  expect(storage.held).toBe(1000);
  await Promise.all([second.dispose(), third.dispose()]);
  expect(storage.held).toBe(0);
  expect([memory.tryTake(1501), memory.tryTake(1500)]).toEqual([false, true]);
});

test("spilled responses, also those written by a worker, are charged to their key until the request ends", async () => {
  using folder = temporaryFolder();
  const storage = storageOf(1_000_000);
  const temp = createRequestTemp(
    folder.path,
    new MemoryBudget(1000),
    storage.account("a", "response"),
  );
  const buffer = temp.buffer();
  await buffer.append(new Uint8Array(900));
  expect(storage.held).toBe(0);
  await buffer.append(new Uint8Array(900));
  expect(storage.held).toBe(1800);
  const file = await temp.file();
  writeFileSync(file.path ?? "", new Uint8Array(5000));
  await file.refreshSize();
  expect(storage.held).toBe(6800);
  expect(() => file.append(new Uint8Array(900_000))).toThrow(GatewayError);
  expect(storage.held).toBe(6800);
  await temp.clear();
  await file.close().catch(() => undefined);
  expect(storage.held).toBe(0);
});

describe("the disk reserve", () => {
  const diskOf = (totalBytes: number, reserveBytes: number) => {
    const state = { freeBytes: totalBytes, now: 0, measured: 0, reported: [] as boolean[] };
    const disk = new DiskReserve({
      reserveBytes,
      measure: () => {
        state.measured++;
        return { freeBytes: state.freeBytes, totalBytes };
      },
      report: (isLow) => state.reported.push(isLow),
      clock: () => state.now,
    });
    return { disk, state };
  };

  test("refuses uploads first, then new image requests, then responses", () => {
    const { disk, state } = diskOf(100_000, 1000);
    expect(disk.hasSpace(99_000, "upload")).toBeTrue();
    expect(disk.hasSpace(99_001, "upload")).toBeFalse();
    expect(disk.hasSpace(99_250, "request")).toBeTrue();
    expect(disk.hasSpace(99_251, "request")).toBeFalse();
    expect(disk.hasSpace(99_500, "response")).toBeTrue();
    expect(disk.hasSpace(99_501, "response")).toBeFalse();
    state.freeBytes = 10;
    state.now = 2000;
    expect(disk.hasSpace(1, "response")).toBeFalse();
  });

  test("measures the disk once a second, and immediately when space runs out", () => {
    const { disk, state } = diskOf(100_000, 1000);
    for (let times = 0; times < 100; times++) {
      expect(disk.hasSpace(100, "upload")).toBeTrue();
      disk.recordWrite(100);
    }
    expect(state.measured).toBe(1);
    // Another program has filled the disk, and the writes counted since the measurement reach the reserve.
    state.freeBytes = 1050;
    disk.recordWrite(89_000);
    expect(disk.hasSpace(100, "upload")).toBeFalse();
    state.now = 1001;
    state.freeBytes = 50_000;
    expect(disk.hasSpace(100, "upload")).toBeTrue();
  });

  test("reports once that space is low, and once that it has recovered", () => {
    const { disk, state } = diskOf(100_000, 1000);
    for (const freeBytes of [50_000, 1300, 1200, 900, 1300, 1400, 1600, 1400]) {
      state.freeBytes = freeBytes;
      state.now += 2000;
      disk.hasSpace(10, "upload");
    }
    expect(state.reported).toEqual([true, false]);
  });

  test("is at most 5 percent of a small disk", () => {
    const { disk } = diskOf(2000, 1_000_000);
    expect(disk.hasSpace(1900, "upload")).toBeTrue();
    expect(disk.hasSpace(1901, "upload")).toBeFalse();
  });
});
