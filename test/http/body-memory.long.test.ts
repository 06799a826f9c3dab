/** The memory of JSON bodies, measured as resident memory of a gateway process. */
import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { embeddingModel, jsonHeaders } from "./gateway-fixture.ts";

const megabyte = 1024 * 1024;
const jsonMemory = 32 * megabyte;
const folder = temporaryFolder();
const fake = startFake();
const gateway = await startProcess({
  folder: folder.path,
  yaml: configFor(fake.url),
  env: { VEXEL_MAX_BODY_BYTES: String(megabyte), VEXEL_JSON_MEMORY_BYTES: String(jsonMemory) },
});
afterAll(async () => {
  await gateway.close();
  fake.close();
  folder[Symbol.dispose]();
});

const memory = (which: "VmRSS" | "VmHWM"): number => {
  const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
  return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1]) * 1024;
};

/** Sends the body on several connections at once, and returns by how much the memory grew, and the statuses. */
async function growthBy(path: string, body: string, connections: number, rounds: number) {
  // Not measured: code that the first request loads.
  await fetch(`${gateway.url}${path}`, { method: "POST", headers: jsonHeaders, body });
  // Resets the peak.
  writeFileSync(`/proc/${gateway.pid}/clear_refs`, "5");
  const before = memory("VmRSS");
  const statuses = new Set<number>();
  const client = async (): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const response = await fetch(`${gateway.url}${path}`, {
        method: "POST",
        headers: jsonHeaders,
        body,
      });
      await response.arrayBuffer();
      statuses.add(response.status);
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  return { bytes: memory("VmHWM") - before, statuses };
}

test("sign-in bodies of clients without an account take at most three times their size in memory", async () => {
  const body = `{"name":"a","password":[${"1,".repeat(500_000)}1]}`;
  const { bytes, statuses } = await growthBy("/admin/api/session", body, 50, 2);
  expect([...statuses]).toEqual([413]);
  expect(bytes).toBeLessThan(3 * 50 * body.length);
});

test("bodies of many small values take at most four times the memory for JSON bodies", async () => {
  for (const value of ["{},", "[1],", '"a",', "1,"]) {
    const count = Math.min(120_000, Math.floor(900_000 / value.length));
    const list = value.repeat(count).slice(0, -1);
    const body = `{"model":"${embeddingModel}","input":"a","extra":[${list}]}`;
    const { bytes, statuses } = await growthBy("/v1/embeddings", body, 40, 2);
    // Unknown fields are refused, and the key is refused where it has used up its share.
    for (const status of statuses) expect([400, 429]).toContain(status);
    expect(bytes).toBeLessThan(4 * jsonMemory);
  }
});
