/** Alibaba Model Studio images: cases that the laws for all vendors do not cover. */
import { expect, test } from "bun:test";
import { dashscope } from "../../server/upstream/adapters/dashscope/dashscope.ts";
import type { ExtraFields, GenerationQuery } from "../../server/upstream/contract.ts";
import { errorKindOf } from "../laws/adapter-responses.ts";
import { query, read, targetOf } from "./image-adapter-fixture.ts";

const { adapter } = dashscope;

const bodyOf = (model: string, imageQuery: GenerationQuery): Record<string, ExtraFields> =>
  JSON.parse(
    adapter.generations!.toUpstream(imageQuery, targetOf("dashscope", model)).body as string,
  );

const readFrom = (model: string, body: object) => read(adapter, targetOf("dashscope", model), body);

test("one image is requested explicitly: Wan would generate, and bill, four by default", () => {
  for (const model of ["wan2.7-image", "wan2.6-t2i", "wan2.2-t2i-flash", "qwen-image-3.0"]) {
    expect(bodyOf(model, query()).parameters?.n).toBe(1);
  }
});

test("a size is written in the vendor's format, and a named size is sent unchanged", () => {
  const sizeOf = (size: string) =>
    bodyOf("wan2.7-image", query({ options: { size } })).parameters?.size;
  expect(sizeOf("1024x1536")).toBe("1024*1536");
  expect(sizeOf("2K")).toBe("2K");
  expect(sizeOf("auto")).toBeUndefined();
});

test("the vendor's own options are passed through by name, at either level", () => {
  const extraFields = { negative_prompt: "rain", seed: 42 };
  const old = bodyOf("wan2.2-t2i-flash", query({ extraFields }));
  expect(old.input).toEqual({ negative_prompt: "rain", prompt: "an otter" });
  expect(old.parameters).toEqual({ seed: 42, n: 1 });
  const newer = bodyOf(
    "wan2.7-image",
    query({ extraFields: { parameters: extraFields, watermark: true } }),
  );
  expect(newer.parameters).toEqual({ negative_prompt: "rain", seed: 42, watermark: true, n: 1 });
});

test("the generated images of a request are delivered, even if others failed", async () => {
  const failed = { code: "InternalError.Timeout", message: "An internal timeout error." };
  const output = (results: object[]) => ({ output: { task_status: "SUCCEEDED", results } });
  const response = await readFrom(
    "wan2.2-t2i-flash",
    output([{ url: "https://x.example/1.png" }, failed]),
  );
  expect(response).toMatchObject({
    kind: "buffered",
    results: [{ image: { kind: "url", url: "https://x.example/1.png" } }],
  });
  const none = await errorKindOf(() => readFrom("wan2.2-t2i-flash", output([failed])));
  expect(none?.kind).toBe("upstream_error");
});

test("a job that the vendor no longer knows fails, and is not polled again", async () => {
  const output = { task_id: "a", task_status: "UNKNOWN" };
  const error = await errorKindOf(() => readFrom("wan2.7-image", { output }));
  expect(error?.kind).toBe("upstream_error");
});

test("a job is polled at the vendor's host, and an id that leads elsewhere is not followed", async () => {
  const started = (task_id: string) =>
    readFrom("wan2.7-image", { output: { task_id, task_status: "PENDING" } });
  const response = await started("0385dc79-5ff8-4d82-bcb6-000000000000");
  if (response.kind !== "pending") throw new Error("it is not pending");
  const root = "https://dashscope-intl.aliyuncs.com/api/v1/";
  expect(response.poll!.url).toBe(`${root}tasks/0385dc79-5ff8-4d82-bcb6-000000000000`);
  expect(response.cancel).toMatchObject({ method: "POST", url: `${response.poll!.url}/cancel` });
  for (const id of ["..", "../files?x=1", "a/b", ""]) {
    expect((await errorKindOf(() => started(id)))?.kind).toBe("upstream_invalid");
  }
});

test("tokens that were not counted are not reported as zero", async () => {
  const output = {
    task_status: "SUCCEEDED",
    choices: [{ message: { content: [{ image: "https://x.example/1.png" }] } }],
  };
  const usage = { total_tokens: 0, input_tokens: 0, output_tokens: 0, image_count: 1 };
  expect(await readFrom("wan2.6-t2i", { output, usage })).not.toHaveProperty("usage");
});
