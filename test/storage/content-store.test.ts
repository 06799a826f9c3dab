/**
 * Stores of the content of requests obey the laws of their port, and content waits for an object store that is down.
 */
import { expect, test } from "bun:test";
import { startFakeS3 } from "../fake-s3.ts";
import { until } from "../until.ts";
import { contentStoreLaws } from "./laws/content-store.laws.ts";
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
