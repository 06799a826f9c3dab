/**
 * Requests allocate few objects. Unlike CPU time, their number does not depend on other load of the machine: with the
 * collector off, the engine counts every object, and only background work adds some.
 */
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder, testKey } from "../harness.ts";
import { preloadPath } from "../process/process-fixture.ts";
import { until } from "../until.ts";

const fake = startFake();
const folder = temporaryFolder();
const counts = join(folder.path, "objects");
const gateway = await startProcess({
  folder: folder.path,
  yaml: configFor(fake.url),
  preload: preloadPath("count-objects.ts"),
  env: {
    OBJECTS: counts,
    BUN_JSC_useGC: "0",
    BUN_GC_TIMER_DISABLE: "1",
    VEXEL_CACHE_BYTES: String(64 * 1024 * 1024),
  },
});
afterAll(async () => {
  gateway.kill("SIGKILL");
  await gateway.exited;
  fake.close();
  folder[Symbol.dispose]();
});

let counted = 0;
async function countObjects(): Promise<number> {
  const file = `${counts}.${counted++}`;
  gateway.kill("SIGUSR2");
  await until(() => existsSync(file));
  return Number(readFileSync(file, "utf8"));
}

let requests = 0;
async function send(input: () => string | string[]): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "text-embedding-3-small",
      input: input(),
      encoding_format: "base64",
    }),
  });
  await response.arrayBuffer();
  expect(response.status).toBe(200);
}

function uncached(): string {
  requests += 1;
  return `an otter in the river ${requests}`;
}

/** Well above what they were on a quiet machine: 470, 230 and 2,600. On a busy one, more background work falls into a round. */
const cases: readonly [string, number, number, () => string | string[]][] = [
  ["an uncached text", 800, 60, uncached],
  ["a cached text", 450, 60, () => "an otter"],
  ["100 uncached texts", 4500, 20, () => Array.from({ length: 100 }, uncached)],
];

test.each(cases)("%s takes at most %i objects", async (_, max, count, input) => {
  const perRequest: number[] = [];
  for (let round = 0; round < 4; round++) {
    const before = await countObjects();
    for (let at = 0; at < count; at++) await send(input);
    perRequest.push(((await countObjects()) - before) / count);
  }
  // The first round also loads code, and background work falls into some rounds.
  expect(Math.min(...perRequest)).toBeLessThan(max);
  expect(Math.min(...perRequest)).toBeGreaterThan(100);
});
