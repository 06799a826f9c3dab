/** /v1/files through the official SDK: upload, list, get, content, delete, expiry, quotas, and who sees a file. */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import OpenAI, { AzureOpenAI, NotFoundError, PermissionDeniedError } from "openai";
import { refusalOf } from "../conformance/arrange.ts";
import { keyOf, startTwoProjects, textFile } from "./two-projects.ts";

const { gateway, first, mate, other, alone } = startTwoProjects();
afterAll(() => gateway.close());

const contents = () =>
  readdirSync(join(gateway.folder, "files")).filter((name) => name.startsWith("file-"));

test("a file is uploaded, found, read and deleted", async () => {
  const before = contents().length;
  const text = '{"custom_id":"1"}\n'.repeat(1000);
  const file = await first.files.create({
    file: await textFile(text, "größe.jsonl"),
    purpose: "batch",
  });
  expect(file).toMatchObject({
    object: "file",
    bytes: text.length,
    filename: "größe.jsonl",
    purpose: "batch",
    status: "processed",
    expires_at: file.created_at + 30 * 86_400,
  });
  expect(file.id).toMatch(/^file-[0-9a-f]{32}$/);
  expect(Math.abs(file.created_at - Date.now() / 1000)).toBeLessThan(60);
  expect(await first.files.retrieve(file.id)).toEqual(file);
  expect(await first.files.waitForProcessing(file.id)).toEqual(file);
  const content = await first.files.content(file.id);
  expect(content.headers.get("content-type")).toBe("application/octet-stream");
  expect(await content.text()).toBe(text);
  const part = await first.files.content(file.id, { headers: { range: "bytes=2-10" } });
  expect(part.status).toBe(206);
  expect(await part.text()).toBe(text.slice(2, 11));
  expect(await first.files.delete(file.id)).toEqual({ id: file.id, object: "file", deleted: true });
  await refusalOf(first.files.retrieve(file.id), NotFoundError);
  await refusalOf(first.files.content(file.id), NotFoundError);
  await refusalOf(first.files.delete(file.id), NotFoundError);
  expect(contents()).toHaveLength(before);
});

test("a file belongs to the project of its key, and no other project sees it", async () => {
  const file = await first.files.create({ file: await textFile("secret"), purpose: "user_data" });
  expect(file.expires_at).toBeUndefined();
  expect(await (await mate.files.content(file.id)).text()).toBe("secret");
  for (const stranger of [other, alone]) {
    for (const attempt of [
      stranger.files.retrieve(file.id),
      stranger.files.content(file.id),
      stranger.files.delete(file.id),
    ]) {
      const error = await refusalOf(attempt, NotFoundError);
      expect(error.message).toContain(`No such File object: ${file.id}`);
      expect(error).toMatchObject({ code: null, param: "id" });
    }
    expect((await stranger.files.list()).data.map(({ id }) => id)).not.toContain(file.id);
  }
  const own = await alone.files.create({ file: await textFile("own"), purpose: "user_data" });
  expect((await alone.files.list()).data).toEqual([own]);
  await refusalOf(first.files.retrieve(own.id), NotFoundError);
});

test("the SDK lists all files in pages, newest first, by purpose", async () => {
  const made: string[] = [];
  for (let at = 0; at < 5; at++) {
    const purpose = at === 4 ? "vision" : "user_data";
    made.push((await other.files.create({ file: await textFile(`${at}`), purpose })).id);
  }
  const listed: string[] = [];
  for await (const file of other.files.list({ limit: 2 })) listed.push(file.id);
  expect(listed).toEqual(made.toReversed());
  const page = await other.files.list({ limit: 2, order: "asc", after: made[1] as string });
  expect(page.data.map(({ id }) => id)).toEqual(made.slice(2, 4));
  expect(page.has_more).toBe(true);
  expect((await other.files.list({ purpose: "vision" })).data).toHaveLength(1);
});

test("expires_after decides when a file expires", async () => {
  const file = await first.files.create({
    file: await textFile("a"),
    purpose: "batch",
    expires_after: { anchor: "created_at", seconds: 3600 },
  });
  expect(file.expires_at).toBe(file.created_at + 3600);
});

describe("an invalid upload is refused, and leaves nothing behind", () => {
  const upload = (fields: readonly (readonly [string, string | Blob, string?])[]) => {
    const form = new FormData();
    for (const [name, value, filename] of fields) {
      if (typeof value === "string") form.append(name, value);
      else form.append(name, value, filename);
    }
    const headers = { authorization: `Bearer ${keyOf("first")}` };
    return fetch(`${gateway.baseURL}/files`, { method: "POST", headers, body: form });
  };
  const blob = new Blob(["abc"]);
  test.each([
    ["no file", [["purpose", "batch"]], "missing_required_parameter", "file"],
    ["no purpose", [["file", blob, "a"]], "missing_required_parameter", "purpose"],
    [
      "a purpose of OpenAI's other features",
      [
        ["file", blob, "a"],
        ["purpose", "fine-tune"],
      ],
      "invalid_value",
      "purpose",
    ],
    [
      "two files",
      [
        ["file", blob, "a"],
        ["file", blob, "b"],
        ["purpose", "batch"],
      ],
      "duplicate_parameter",
      "file",
    ],
    [
      "an unknown field",
      [
        ["file", blob, "a"],
        ["purpose", "batch"],
        ["colour", "red"],
      ],
      "unknown_parameter",
      "colour",
    ],
    [
      "an expiry that is too short",
      [
        ["file", blob, "a"],
        ["purpose", "batch"],
        ["expires_after[anchor]", "created_at"],
        ["expires_after[seconds]", "60"],
      ],
      "integer_below_min_value",
      "expires_after.seconds",
    ],
  ] as const)("%s", async (_, fields, code, param) => {
    const before = contents();
    const response = await upload(fields);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: object };
    expect(error).toMatchObject({ code, param });
    expect(contents()).toEqual(before);
  });
});

test("an upload that breaks off leaves nothing behind", async () => {
  const before = contents();
  const abort = new AbortController();
  const body = new ReadableStream({
    async start(controller) {
      const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n';
      controller.enqueue(Buffer.from(head + "a".repeat(100_000)));
      await Bun.sleep(50);
      abort.abort();
    },
  });
  const headers = {
    authorization: `Bearer ${keyOf("first")}`,
    "content-type": "multipart/form-data; boundary=x",
  };
  const sent = fetch(`${gateway.baseURL}/files`, {
    method: "POST",
    headers,
    body,
    signal: abort.signal,
  });
  await expect(sent).rejects.toThrow();
  const drafts = () => readdirSync(join(gateway.folder, "files", ".drafts"));
  while (drafts().length > 0) await Bun.sleep(5);
  expect(contents()).toEqual(before);
});

test("Azure's paths serve the same files", async () => {
  const azure = new AzureOpenAI({
    endpoint: gateway.url,
    apiKey: keyOf("first"),
    apiVersion: "2025-04-01-preview",
  });
  const file = await azure.files.create({ file: await textFile("azure"), purpose: "batch" });
  expect(await (await azure.files.content(file.id)).text()).toBe("azure");
  const v1 = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: keyOf("first") });
  expect(await v1.files.retrieve(file.id)).toEqual(file);
});

test("quotas are per project and in all, and a deleted file frees its space", async () => {
  await using stack = new AsyncDisposableStack();
  const small = startTwoProjects({
    settings: {
      VEXEL_FILES_MAX_BYTES: "40000",
      VEXEL_MAX_UPLOAD_BYTES: "15000",
    },
  });
  stack.defer(() => small.gateway.close());
  const upload = async (client: OpenAI, bytes: number) =>
    client.files.create({ file: await textFile("x".repeat(bytes)), purpose: "user_data" });
  const large = await refusalOf(upload(small.first, 15_001), OpenAI.APIError);
  expect(large).toMatchObject({ status: 413, param: "file" });
  const file = await upload(small.first, 15_000);
  const own = await refusalOf(upload(small.mate, 8000), PermissionDeniedError);
  expect(own.message).toContain("of this project");
  await upload(small.other, 14_000);
  const all = await refusalOf(upload(small.alone, 14_000), PermissionDeniedError);
  expect(all.message).toContain("of this gateway");
  await small.first.files.delete(file.id);
  await upload(small.mate, 8000);
});
