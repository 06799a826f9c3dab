/** A large file is streamed to the storage and back: the memory of the gateway does not grow with it. */
import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { configFor, startProcess, temporaryFolder, testKey } from "../harness.ts";

const megabyte = 1024 * 1024;
const size = 200 * megabyte;
const folder = temporaryFolder();
const gateway = await startProcess({ folder: folder.path, yaml: configFor("http://127.0.0.1:9") });
afterAll(async () => {
  await gateway.close();
  folder[Symbol.dispose]();
});

const memory = (which: "VmRSS" | "VmHWM"): number => {
  const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
  return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1]) * 1024;
};
const headers = { authorization: `Bearer ${testKey}` };

/** Uploads a form whose file has this many bytes, without holding it in memory. */
async function upload(bytes: number): Promise<{ id: string; bytes: number }> {
  const head =
    '--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n';
  const chunk = Buffer.alloc(megabyte, "abcdefg\n");
  const body = async function* () {
    yield Buffer.from(head);
    for (let sent = 0; sent < bytes; sent += megabyte) yield chunk;
    yield Buffer.from("\r\n--x--\r\n");
  };
  const response = await fetch(`${gateway.url}/v1/files`, {
    method: "POST",
    headers: { ...headers, "content-type": "multipart/form-data; boundary=x" },
    body: body() as unknown as ReadableStream,
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { id: string; bytes: number };
}

async function download(id: string): Promise<number> {
  const response = await fetch(`${gateway.url}/v1/files/${id}/content`, { headers });
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += chunk.length;
  return bytes;
}

test("a file of 200 MB takes at most 64 MB of memory, up and down", async () => {
  // Not measured: code that the first request loads.
  await download((await upload(megabyte)).id);
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
  const before = memory("VmRSS");
  const file = await upload(size);
  expect(file.bytes).toBe(size);
  expect(await download(file.id)).toBe(size);
  expect((memory("VmHWM") - before) / megabyte).toBeLessThan(64);
});
