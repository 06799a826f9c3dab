/** An input that ends the process each time that it is validated does not do so for ever. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startProcess, temporaryFolder, testKey } from "../harness.ts";
import { embeddingLine, endOfBatch, sdkOf, uploadLines } from "./lines.ts";

const yaml = `
upstreams: []
models: []
keys:
  - { name: test, key: ${testKey} }
builtInModels: true
`;

/** Kills the process when it reads a stored file of a client. */
const killer = `
const { file } = Bun;
Bun.file = (path, ...more) => {
  if (/\\/files\\/file-[^/]*$/.test(String(path)) && process.env.KILLS === "yes")
    process.kill(process.pid, "SIGKILL");
  return file(path, ...more);
};
`;

test("a batch whose validation ends with the process three times fails, with the reason", async () => {
  using folder = temporaryFolder();
  const preload = join(folder.path, "killer.ts");
  writeFileSync(preload, killer);
  const start = (kills: string) =>
    startProcess({ folder: folder.path, yaml, preload, env: { KILLS: kills } });
  let running = await start("yes");
  const client = sdkOf(`${running.url}/v1`, testKey);
  const input_file_id = await uploadLines(client, embeddingLine("a"));
  const created = await client.batches.create({
    input_file_id,
    endpoint: "/v1/embeddings",
    completion_window: "24h",
  });
  expect(await running.exited).not.toBe(0);
  for (let restart = 0; restart < 2; restart++) {
    running = await start("yes");
    expect(await running.exited).not.toBe(0);
  }
  running = await start("yes");
  try {
    const batch = await endOfBatch(sdkOf(`${running.url}/v1`, testKey), created.id);
    expect(batch).toMatchObject({
      status: "failed",
      errors: {
        data: [{ code: "job_not_validated", message: expect.stringContaining("3 attempts") }],
      },
    });
  } finally {
    await running.close();
  }
});
