/**
 * Run by bench/request-path.ts under the coverage of `bun test`: starts a gateway in this process and sends it one
 * request, or none, as the variable REQUEST says.
 */
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { fakeImage, startFake } from "../test/fake-upstream.ts";
import { configFor, startGateway, testKey } from "../test/harness.ts";

function edit(): FormData {
  const image = fakeImage("otter", 0, { format: "png", width: 64, height: 64 });
  const form = new FormData();
  form.append("model", "gpt-image-2");
  form.append("prompt", "an otter");
  form.append("image", new Blob([image], { type: "image/png" }), "otter.png");
  return form;
}

const json = (body: object): RequestInit => ({
  headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** By name: the path and the body of the request. */
const requests: Readonly<Record<string, readonly [string, () => RequestInit]>> = {
  embedding: ["embeddings", () => json({ model: "text-embedding-3-small", input: "an otter" })],
  generation: ["images/generations", () => json({ model: "gpt-image-2", prompt: "an otter" })],
  edit: ["images/edits", () => ({ headers: { authorization: `Bearer ${testKey}` }, body: edit() })],
};

/** Timers that are at least this long serve background work and timeouts. No response waits for one. */
const backgroundTimerMs = 20;

/**
 * Drops every timer of background work. What the gateway does later, such as moving rows of many requests from the
 * outbox into the ledger store, is not part of a request, and on a slow machine it might run before the response.
 */
function dropBackgroundTimers(): void {
  for (const name of ["setTimeout", "setInterval"] as const) {
    const start = globalThis[name] as typeof setTimeout;
    const startShort = (listener: () => void, ms = 0, ...args: []): unknown => {
      const timer = start(listener, ms, ...args);
      if (ms >= backgroundTimerMs) clearTimeout(timer);
      return timer;
    };
    Object.assign(globalThis, { [name]: startShort });
  }
}

/**
 * Lets the background work that follows the start run. It waits for turns of the event loop, and not for a time: on a
 * slow machine the wait is longer.
 */
async function runBackgroundWork(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await Bun.sleep(10);
}

test("one request", async () => {
  const [path, init] = requests[process.env.REQUEST ?? ""] ?? [];
  if (path) dropBackgroundTimers();
  const fake = startFake();
  const settings = { VEXEL_CACHE_BYTES: "10000000" };
  const gateway = startGateway({ yaml: configFor(fake.url), settings, logLevel: "error" });
  if (path && init) {
    // The retry budget counts by whole seconds of the clock: in the first second it runs fewer lines.
    while (performance.now() < 1000) await Bun.sleep(10);
    const response = await fetch(`${gateway.baseURL}/${path}`, { method: "POST", ...init() });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  } else await runBackgroundWork();
  // The gateway is not closed: that is not part of a request.
  rmSync(gateway.folder, { recursive: true });
});
