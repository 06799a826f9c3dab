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
  const wrong = await refusalOf(
    first.uploads.complete(upload.id, { part_ids: [a, b, unused] as string[], md5 }),
    BadRequestError,
  );
  expect(wrong.param).toBe("md5");
  const part_ids = [a, b, c] as string[];
  const completed = await first.uploads.complete(upload.id, { part_ids, md5 });
  expect(completed).toMatchObject({ id: upload.id, status: "completed" });
  const file = completed.file as OpenAI.FileObject;
  expect(file).toMatchObject({ bytes: 9, filename: "corpus.jsonl", purpose: "batch" });
  expect(await (await first.files.content(file.id)).text()).toBe("abcdefghi");
  expect(await first.files.retrieve(file.id)).toEqual(file);
  expect(partsOf(upload.id)).toEqual([]);
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

test("a cancelled upload frees its space, and has no file", async () => {
  const upload = await begin(first, 700_000, "user_data");
  await add(first, upload.id, "abc");
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
