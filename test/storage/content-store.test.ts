/**
 * Stores of the content of requests obey the laws of their port, and content waits for an object store that is down.
 */
import { expect, test } from "bun:test";
import { StoreFullError } from "../../server/storage/files/content-files.ts";
import { startFakeS3 } from "../fake-s3.ts";
import { until } from "../until.ts";
import { contentMaxBytes, contentStoreLaws } from "./laws/content-store.laws.ts";
import { contentFiles } from "./laws/implementations.ts";
import { openS3Content, s3ContentStore } from "./laws/s3-implementations.ts";

contentStoreLaws(contentFiles);
contentStoreLaws(s3ContentStore);

test("content that could not be uploaded is uploaded when the object store responds again", async () => {
  const s3 = startFakeS3();
  let now = Date.now();
  const store = openS3Content(s3.url("down"), () => now);
  await s3.stop();
  const writer = store.begin("m", "req_1");
  writer.append("text");
  writer.commit();
  const read = async () => (await (await store.find("m", "req_1"))?.read())?.toString();
  expect(await read()).toBe("text");
  s3.start();
  const kept = new Map([["m", 60_000_000]]);
  await until(async () => {
    // The backoff of the object store ends.
    now += 10_000;
    await store.sweep(kept).catch(() => undefined);
    return s3.objects.size === 1;
  });
  expect(await read()).toBe("text");
  await store.close();
  await s3.stop();
});

test("content that is uploaded counts toward the maximum of its replica, and after a sweep of every replica", async () => {
  const s3 = startFakeS3();
  const [store, other] = [1, 2].map(() => openS3Content(s3.url("full"), Date.now)) as [
    ReturnType<typeof openS3Content>,
    ReturnType<typeof openS3Content>,
  ];
  const isFull = (replica: typeof store): boolean => {
    try {
      replica.begin("m", "probe").discard();
      return false;
    } catch (error) {
      expect(error).toBeInstanceOf(StoreFullError);
      return true;
    }
  };
  const write = (requestId: string): boolean => {
    const writer = store.begin("m", requestId);
    try {
      writer.append("x".repeat(0.3 * contentMaxBytes));
      writer.commit();
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(StoreFullError);
      writer.discard();
      return false;
    }
  };
  for (const at of [1, 2, 3, 4]) {
    expect(isFull(store)).toBe(false);
    // A file that was just uploaded may still count in the data folder, which has the same maximum.
    await until(() => write(`req_${at}`));
    await until(() => s3.objects.size === at);
  }
  await until(() => isFull(store));
  expect(isFull(other)).toBe(false);
  await other.sweep(new Map([["m", 60_000]]));
  expect(isFull(other)).toBe(true);
  await other.sweep(new Map());
  expect(isFull(other)).toBe(false);
  await Promise.all([store.close(), other.close()]);
  await s3.stop();
});
