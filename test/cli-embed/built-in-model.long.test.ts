/** `vexel embed` with the built-in model of a real gateway. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway, temporaryFolder, testKey } from "../harness.ts";
import { vexelProcess } from "../process/process-fixture.ts";
import { readJsonLines, serverEnvironment } from "./embed-fixture.ts";

test("a gateway with the built-in model embeds a CSV file as it embeds single texts", async () => {
  using folder = temporaryFolder();
  const gateway = startGateway({ yaml: `keys: [{ name: test, key: ${testKey} }]\n` });
  try {
    writeFileSync(join(folder.path, "docs.csv"), 'id,text\n1,"A cat,\nasleep."\n2,A dog.\n');
    const model = "all-minilm-l6-v2";
    const args = ["embed", "--model", model, "--input", "docs.csv", "--output", "vectors.jsonl"];
    const env = serverEnvironment({ url: gateway.baseURL }, testKey);
    expect((await vexelProcess(args, { cwd: folder.path, env })).code).toBe(0);
    const input = ["A cat,\nasleep.", "A dog."];
    const response = await gateway.post("/v1/embeddings", { model, input });
    const { data } = (await response.json()) as { data: { embedding: number[] }[] };
    const read = readJsonLines(folder.path, "vectors.jsonl");
    expect(read).toEqual(data.map(({ embedding }, at) => ({ id: `${at + 1}`, embedding })));
  } finally {
    await gateway.close();
  }
});
