/** /v1/uploads through the official SDK: files in parts, in the order of `part_ids`, checked by size and MD5. */
import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import OpenAI, { BadRequestError, NotFoundError, toFile } from "openai";
import { refusalOf } from "../conformance/arrange.ts";
import { startTwoProjects } from "./two-projects.ts";

const { gateway, first, mate, other } = startTwoProjects({
  settings: { VEXEL_FILES_MAX_BYTES: "2000000", VEXEL_BATCH_MAX_BYTES: "500000" },
});
afterAll(() => gateway.close());

const begin = (client: OpenAI, bytes: number, purpose: "batch" | "user_data" = "batch") =>
  client.uploads.create({ bytes, filename: "corpus.jsonl", mime_type: "text/jsonl", purpose });
const add = async (client: OpenAI, id: string, text: string) =>
  (await client.uploads.parts.create(id, { data: await toFile(Buffer.from(text), "part") })).id;
const partsOf = (id: string): string[] => {
  const folder = join(gateway.folder, "files", "uploads", id);
  return existsSync(folder) ? readdirSync(folder) : [];
};

test("parts that arrive in any order become a file in the order of part_ids", async () => {
  const upload = await begin(first, 9);
  expect(upload).toMatchObject({
    object: "upload",
    bytes: 9,
    filename: "corpus.jsonl",
    purpose: "batch",
    status: "pending",
    expires_at: upload.created_at + 3600,
  });
  const [c, b, a, unused] = await Promise.all(
    ["ghi", "def", "abc", "xyz"].map((text, at) => add(at % 2 ? first : mate, upload.id, text)),
  );
  expect(partsOf(upload.id)).toHaveLength(4);
  const md5 = new Bun.CryptoHasher("md5").update("abcdefghi").digest("hex");
  expect(unused).toStartWith("part_");
  const part_ids = [a, b, c] as string[];
  const completed = await first.uploads.complete(upload.id, { part_ids, md5 });
  expect(completed).toMatchObject({ id: upload.id, status: "completed" });
  const file = completed.file as OpenAI.FileObject;
  expect(file).toMatchObject({ bytes: 9, filename: "corpus.jsonl", purpose: "batch" });
  expect(await (await first.files.content(file.id)).text()).toBe("abcdefghi");
  expect(await first.files.retrieve(file.id)).toEqual(file);
  // The file is its parts: nothing was copied.
  expect(partsOf(upload.id).toSorted()).toEqual([a, b, c].toSorted() as string[]);
  const range = await first.files.content(file.id, { headers: { range: "bytes=2-6" } });
  expect(await range.text()).toBe("cdefg");
  // The response may have been lost.
  expect(await first.uploads.complete(upload.id, { part_ids, md5 })).toEqual(completed);
  await refusalOf(add(first, upload.id, "late"), BadRequestError);
  await refusalOf(first.uploads.cancel(upload.id), BadRequestError);
});

test("the parts must have the size of the upload, and belong to it", async () => {
  const upload = await begin(first, 6);
  const part = await add(first, upload.id, "abc");
  for (const part_ids of [[part], [part, part], ["part_none"], []]) {
    const error = await refusalOf(first.uploads.complete(upload.id, { part_ids }), BadRequestError);
    expect(error.param).toBe("part_ids");
  }
  const large = await refusalOf(add(first, upload.id, "x".repeat(10)), OpenAI.APIError);
  expect(large).toMatchObject({ status: 413, param: "data" });
  const second = await add(first, upload.id, "def");
  await first.uploads.complete(upload.id, { part_ids: [part, second] });
});

test("a wrong checksum ends the upload, and a right one in any case completes it", async () => {
  const upload = await begin(first, 6);
  const part_ids = [await add(first, upload.id, "abc"), await add(first, upload.id, "def")];
  const md5 = new Bun.CryptoHasher("md5").update("abcdef").digest("hex");
  const wrong = await refusalOf(
    first.uploads.complete(upload.id, { part_ids: part_ids.toReversed(), md5 }),
    BadRequestError,
  );
  expect(wrong).toMatchObject({ param: "md5", code: "invalid_value" });
  expect(wrong.message).toContain("Create another upload");
  expect(partsOf(upload.id)).toEqual([]);
  const again = await refusalOf(
    first.uploads.complete(upload.id, { part_ids, md5 }),
    BadRequestError,
  );
  expect(again.message).toContain("The upload is cancelled");
  const next = await begin(first, 6);
  const parts = [await add(first, next.id, "abc"), await add(first, next.id, "def")];
  const complete = () =>
    first.uploads.complete(next.id, { part_ids: parts, md5: md5.toUpperCase() });
  // Repeated while the first request still reads the parts.
  const [completed, repeated] = await Promise.all([complete(), complete()]);
  expect(completed.status).toBe("completed");
  expect(repeated).toEqual(completed);
});

test("a part without bytes is refused, and takes no file on the disk", async () => {
  const upload = await begin(first, 6);
  const empty = await refusalOf(add(first, upload.id, ""), BadRequestError);
  expect(empty).toMatchObject({ param: "data", code: "invalid_value" });
  expect(partsOf(upload.id)).toEqual([]);
});

test("an upload takes space as its parts arrive, and none before", async () => {
  const uploads = await Promise.all(
    [first, mate, other].map((client) => begin(client, 900_000, "user_data")),
  );
  const file = await mate.files.create({
    file: await toFile(Buffer.alloc(500_000), "a"),
    purpose: "user_data",
  });
  await add(first, uploads[0]?.id as string, "x".repeat(450_000));
  const full = await refusalOf(
    add(mate, uploads[1]?.id as string, "x".repeat(450_000)),
    OpenAI.APIError,
  );
  expect(full).toMatchObject({ status: 403, code: "file_quota_exceeded" });
  const [own, large] = [uploads[0]?.id as string, uploads[1]?.id as string];
  expect(partsOf(own)).toHaveLength(1);
  expect(partsOf(large)).toEqual([]);
  await first.uploads.cancel(own);
  await add(mate, large, "x".repeat(450_000));
  await mate.uploads.cancel(large);
  await other.uploads.cancel(uploads[2]?.id as string);
  await mate.files.delete(file.id);
});

test("an upload that the space cannot hold is refused when it begins", async () => {
  const full = await refusalOf(begin(first, 1_000_001, "user_data"), OpenAI.APIError);
  expect(full).toMatchObject({ status: 403, code: "file_quota_exceeded" });
});

test("a cancelled upload frees its space, and has no file", async () => {
  const upload = await begin(first, 700_000, "user_data");
  await add(first, upload.id, "x".repeat(600_000));
  const full = await refusalOf(begin(mate, 700_000, "user_data"), OpenAI.APIError);
  expect(full).toMatchObject({ status: 403, code: "file_quota_exceeded" });
  expect((await first.uploads.cancel(upload.id)).status).toBe("cancelled");
  expect((await first.uploads.cancel(upload.id)).status).toBe("cancelled");
  expect(partsOf(upload.id)).toEqual([]);
  await refusalOf(first.uploads.complete(upload.id, { part_ids: ["x"] }), BadRequestError);
  const again = await begin(mate, 700_000, "user_data");
  await mate.uploads.cancel(again.id);
});

test("another project sees no upload", async () => {
  const upload = await begin(first, 3);
  await refusalOf(add(other, upload.id, "abc"), NotFoundError);
  await refusalOf(other.uploads.cancel(upload.id), NotFoundError);
  await refusalOf(other.uploads.complete(upload.id, { part_ids: ["x"] }), NotFoundError);
});

test("an upload that is too large for a batch is refused when it begins", async () => {
  const error = await refusalOf(begin(first, 600_000), OpenAI.APIError);
  expect(error).toMatchObject({ status: 413, param: "bytes" });
});
