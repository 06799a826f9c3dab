/** The input file of a batch that a user starts in the browser. */
import { expect, test } from "bun:test";
import { batchFile } from "../../console/src/features/jobs/batch-file.ts";

test("each line that is not empty becomes a request", async () => {
  const texts = await batchFile(new Blob(['a "red" boat\r\n\n hill\n']), "/v1/embeddings", "m");
  const lines = ((await texts?.text()) ?? "").trim().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      custom_id: "1",
      method: "POST",
      url: "/v1/embeddings",
      body: { model: "m", input: 'a "red" boat' },
    },
    { custom_id: "2", method: "POST", url: "/v1/embeddings", body: { model: "m", input: " hill" } },
  ]);
  const prompts = await batchFile(new Blob(["an otter"]), "/v1/images/generations", "m");
  expect(JSON.parse((await prompts?.text()) ?? "").body).toEqual({
    model: "m",
    prompt: "an otter",
  });
});

test("a file of the Batch API stays as it is, and a file without a line is refused", async () => {
  const file = new Blob(['{"custom_id":"x","url":"/v1/embeddings","body":{}}\n']);
  expect(await batchFile(file, "/v1/embeddings", "m")).toBe(file);
  expect(await batchFile(new Blob([" \n"]), "/v1/embeddings", "m")).toBeUndefined();
});
