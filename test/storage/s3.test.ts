/**
 * The object store beyond the laws of its ports: `BLOB_URL`, presigned links, timeouts, incomplete objects, deletion by
 * any replica.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { type ContentFiles, contentName } from "../../server/storage/files/content-files.ts";
import type { ResponseStore } from "../../server/storage/ports/response-store.ts";
import { parseBlobUrl } from "../../server/storage/s3/blob-url.ts";
import { openObjectStorage } from "../../server/storage/s3/object-storage.ts";
import { ObjectStore } from "../../server/storage/s3/object-store.ts";
import { S3Content } from "../../server/storage/s3/s3-content.ts";
import { S3Images } from "../../server/storage/s3/s3-images.ts";
import { S3Responses } from "../../server/storage/s3/s3-responses.ts";
import { errorResponse, startFakeS3 } from "../fake-s3.ts";

const s3 = startFakeS3({ pageSize: 2 });
afterAll(() => void s3.stop());
const png = { type: "image/png", ttlMs: 60_000 };

const clock = (): number => performance.now();

function open(prefix: string, now: () => number = Date.now, timeoutMs = 10_000) {
  const objects = new ObjectStore({
    location: parseBlobUrl(s3.url(prefix), {}),
    clock,
    timeoutMs,
  });
  return { objects, images: new S3Images({ objects, maxBytes: 1e6, isPresigned: true, now }) };
}

test("BLOB_URL names bucket, prefix, endpoint, region and credentials", () => {
  const env = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret", AWS_SESSION_TOKEN: "t" };
  expect(parseBlobUrl("s3://images", env)).toEqual({
    bucket: "images",
    prefix: "",
    region: "us-east-1",
    links: "gateway",
    endpoint: "https://s3.us-east-1.amazonaws.com",
    accessKeyId: "id",
    secretAccessKey: "secret",
    sessionToken: "t",
  });
  const own = "s3://me:a%2Fb@images/x/y/?endpoint=http://minio:9000&region=eu&links=presigned";
  expect(parseBlobUrl(own, {})).toEqual({
    bucket: "images",
    prefix: "x/y/",
    region: "eu",
    links: "presigned",
    endpoint: "http://minio:9000",
    accessKeyId: "me",
    secretAccessKey: "a/b",
    sessionToken: "",
  });
});

test.each([
  ["s3://", {}, "must have the form"],
  ["s3://a:b@c?endpont=x", {}, '"endpont"'],
  ["s3://a:b@c?endpoint=minio:9000", {}, "endpoint must be"],
  ["s3://a:b@c?links=public", {}, "gateway or presigned"],
  ["s3://bucket", {}, "no credentials"],
  ["s3://a:b@c", { AWS_SESSION_TOKEN: "other" }, "AWS_SESSION_TOKEN"],
])("BLOB_URL=%p is refused", (url, env, problem) => {
  expect(() => parseBlobUrl(url, env)).toThrow(problem);
});

test("a presigned link is served by the object store", async () => {
  const { url = "" } = await open("presigned").images.put(Buffer.from("an image"), png);
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toBe("image/png");
  expect(await response.text()).toBe("an image");
  expect((await fetch(url.replace(/Expires=\d+/, "Expires=6000"))).status).toBe(403);
});

test("an object store that does not respond is an error within the timeout, and is not called again during the backoff", async () => {
  const { images } = open("hang", Date.now, 20);
  const release = s3.hang();
  const before = s3.requests.length;
  const failure = { kind: "storage_unavailable", details: { retryAfterMs: 2000 } };
  await expect(images.put(Buffer.from("a"), png)).rejects.toMatchObject(failure);
  await expect(images.put(Buffer.from("a"), png)).rejects.toMatchObject(failure);
  expect(s3.requests.length - before).toBe(1);
  release();
});

test("the backoff ends although the wall clock is set back", async () => {
  let [wallMs, monotonicMs, isUp] = [Date.now(), 0, false];
  using server = Bun.serve({
    port: 0,
    fetch: () => new Response("text", { status: isUp ? 200 : 503 }),
  });
  const endpoint = `http://127.0.0.1:${server.port}`;
  const { objects } = openObjectStorage({
    url: `s3://id:secret@bucket?endpoint=${endpoint}`,
    imagesMaxBytes: 1,
    env: {},
    log: { warn: () => undefined, error: () => undefined },
    emit: () => undefined,
    now: () => wallMs,
    clock: () => monotonicMs,
  });
  await expect(objects.readText("a")).rejects.toMatchObject({ kind: "storage_unavailable" });
  isUp = true;
  wallMs -= 3_600_000;
  monotonicMs += 1999;
  await expect(objects.readText("a")).rejects.toMatchObject({ kind: "storage_unavailable" });
  monotonicMs += 1;
  expect(await objects.readText("a")).toBe("text");
});

test("wrong credentials are reported, without the secret", async () => {
  const location = { ...parseBlobUrl(s3.url("x"), {}), secretAccessKey: "wrong-secret" };
  const reported: string[] = [];
  const objects = new ObjectStore({
    location,
    clock,
    onAvailability: (error) => reported.push(String(error)),
  });
  await expect(objects.readText("a")).rejects.toMatchObject({ kind: "storage_unavailable" });
  expect(reported.join()).toContain("SignatureDoesNotMatch");
  expect(reported.join()).not.toContain("wrong-secret");
});

test("expired images and responses are deleted from the bucket by any replica", async () => {
  let now = Date.now();
  const [first, second] = [open("sweep", () => now), open("sweep", () => now)];
  const names: string[] = [];
  for (let at = 0; at < 5; at++) {
    const ttlMs = at === 0 ? 600_000 : 60_000;
    names.push((await first.images.put(Buffer.from("image"), { ...png, ttlMs })).name);
  }
  const responses = responsesIn(second.objects, () => now);
  await second.objects.writeText("responses/a.json", "{}");
  now += 130_000;
  await second.images.sweep();
  await responses.sweep();
  const left = [...s3.objects.keys()].filter((key) => key.startsWith("sweep/"));
  expect(left).toEqual([`sweep/images/${names[0]}`]);
});

test.each([
  ["cut off", "the ima"],
  ["too long", "the images, and more"],
  ["empty", ""],
])("a response whose body in the bucket is %s is not found", async (kind, text) => {
  const prefix = `response-${kind.replace(" ", "-")}`;
  const responses = await storeResponse(prefix);
  expect(await responses.find("name")).toMatchObject({ length: "the images".length });
  const key = [...s3.objects.keys()].find(
    (name) => name.startsWith(`${prefix}/responses/`) && name.endsWith(".body"),
  )!;
  s3.objects.set(key, { ...s3.objects.get(key)!, bytes: Buffer.from(text) });
  expect(await responses.find("name")).toBeUndefined();
});

const notInDataFolder: ResponseStore = {
  ensureSpace: () => undefined,
  begin: () => ({
    append: () => undefined,
    commit: async () => undefined,
    discard: async () => undefined,
  }),
  find: async () => undefined,
};

const responsesIn = (objects: ObjectStore, now = Date.now, local = notInDataFolder): S3Responses =>
  new S3Responses({
    objects,
    local,
    ttlMs: 60_000,
    now,
    reportUnshared: (error) => {
      throw error;
    },
  });

/** Stores a response under the name "name". Returns another replica. */
async function storeResponse(prefix: string, timeoutMs?: number): Promise<S3Responses> {
  const metadata = { requestId: "req_1", fingerprint: "f", headers: {} };
  const whole = "the images";
  const chunks = async function* () {
    yield Buffer.from(whole);
  };
  const stored = { ...metadata, length: whole.length, open: chunks };
  const local = { ...notInDataFolder, find: async () => stored };
  const storing = responsesIn(open(prefix).objects, Date.now, local);
  await storing.begin("key_1").commit(["name"], metadata);
  return responsesIn(open(prefix, Date.now, timeoutMs).objects);
}

test.each(["", "<html>", '{"requestId":'])(
  "a response whose entry in the bucket is %p is not found",
  async (text) => {
    const responses = await storeResponse("damaged");
    const key = "damaged/responses/name.json";
    s3.objects.set(key, { ...s3.objects.get(key)!, bytes: Buffer.from(text) });
    expect(await responses.find("name")).toBeUndefined();
  },
);

test("a stored response ends with an error if the object store stops sending it", async () => {
  const responses = await storeResponse("stalled", 500);
  const found = await responses.find("name");
  const release = s3.hang();
  const read = async (): Promise<void> => {
    for await (const _ of found?.open() ?? []);
  };
  await expect(read()).rejects.toThrow("sent nothing for 500 ms");
  release();
});

describe("stored content that the object store has", () => {
  const content = (timeoutMs?: number) =>
    new S3Content({
      objects: open("content", Date.now, timeoutMs).objects,
      files: { find: async () => undefined } as unknown as ContentFiles,
      maxBytes: 1e6,
      secrets: { decryptBytes: (bytes) => bytes },
      now: Date.now,
    });
  const name = `content/${contentName("m", "req_1")}`;
  s3.objects.set(name, {
    bytes: Buffer.from("a prompt"),
    type: "application/octet-stream",
    modified: new Date().toISOString(),
  });

  test("is an error and not missing while it cannot be read", async () => {
    const found = await content().find("m", "req_1");
    s3.intercept(() => errorResponse(500, "InternalError", "an error"));
    await expect(found?.read()).rejects.toMatchObject({ kind: "storage_unavailable" });
    s3.intercept(undefined);
    expect(String(await (await content().find("m", "req_1"))?.read())).toBe("a prompt");
  });

  test("is an error within the timeout if the object store does not respond", async () => {
    const found = await content(20).find("m", "req_1");
    const release = s3.hang();
    await expect(found?.read()).rejects.toMatchObject({ kind: "storage_unavailable" });
    release();
  });

  test("is missing if it is deleted before it is read", async () => {
    const found = await content().find("m", "req_1");
    s3.objects.delete(name);
    expect(await found?.read()).toBeUndefined();
  });
});
