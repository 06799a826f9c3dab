/** How the gateway handles a failing worker process, with a fake process. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { GatewayError } from "../../server/lib/gateway-error.ts";
import { classifyOutcome } from "../../server/routing/health/classify-outcome.ts";
import { readSettings } from "../../server/settings.ts";
import { planBatch } from "../../server/workers/embedding/child/batch-scheduler.ts";
import { createEmbedder } from "../../server/workers/embedding/embedder.ts";
import { maxCharacters } from "../../server/workers/embedding/messages.ts";
import type { ToChild, ToParent } from "../../server/workers/process/protocol.ts";
import {
  WorkerProcess,
  type WorkerProcessOptions,
} from "../../server/workers/process/worker-process.ts";
import { expectError, never, textQuery } from "./built-in-fixture.ts";

type Sent = ToChild<number, string>;

/** Each child responds with `play`; the spec it is loaded with is the number of children lost before. */
function pretend(
  play: (sent: Sent, say: (message: ToParent<string>) => void, die: () => void) => void,
  options: Partial<WorkerProcessOptions<number>> = {},
) {
  const loaded: number[] = [];
  let now = 1_000;
  let living = 0;
  const link = new WorkerProcess<number, string, string>({
    name: "The pretended model",
    entry: "nowhere",
    spec: (lost) => lost,
    maxWeight: 10,
    idleMs: 60_000,
    startBackoffMs: 500,
    hangTimeoutMs: 2_000,
    now: () => now,
    ...options,
    spawn: (_, onMessage) => {
      living += 1;
      const { promise, resolve } = Promise.withResolvers<string>();
      let dead = false;
      const die = () => {
        dead = true;
        resolve("SIGILL");
      };
      void promise.then(() => {
        living -= 1;
      });
      const send = (message: unknown) => {
        const sent = message as Sent;
        if (sent.type === "load") loaded.push(sent.spec);
        queueMicrotask(() => {
          if (!dead) play(sent, onMessage, die);
        });
      };
      return { pid: 1, send, kill: () => resolve("SIGKILL"), exited: promise };
    },
  });
  const sendText = (text: string, signal = never) => {
    const parts: string[] = [];
    return link
      .send({ request: text, weight: text.length, signal, onPart: (part) => parts.push(part) })
      .then(() => parts.join(""));
  };
  return { link, sendText, loaded, alive: () => living, wait: (ms: number) => (now += ms) };
}

test("parts of a response arrive in order and the last one ends the request", async () => {
  const { link, sendText } = pretend((sent, say) => {
    if (sent.type === "load") say({ type: "ready", metadata: { runtime: "native" } });
    if (sent.type !== "request") return;
    for (const [i, part] of [...sent.request].entries()) {
      say({ type: "part", id: sent.id, part, last: i === sent.request.length - 1 });
    }
  });
  expect(await Promise.all([sendText("abc"), sendText("de")])).toEqual(["abc", "de"]);
  expect(link.state()).toEqual({ pid: 1, metadata: { runtime: "native" }, requests: 0, weight: 0 });
  await link.close();
});

test("a full queue refuses a request for another target, and does not eject the model", async () => {
  const { link, sendText } = pretend(() => {});
  const pending = sendText("12345678");
  const error = await expectError(sendText("12345"), "overloaded", /limit of pending requests/);
  expect(error.definition).toMatchObject({ status: 503, retry: "elsewhere" });
  const ended = {
    aborted: false,
    cutOff: false,
    durationMs: 1,
    timeoutMs: 1000,
    abandonedMs: 1000,
  };
  expect(classifyOutcome(error, ended)).toEqual({ kind: "neutral" });
  await link.close();
  await expectError(pending, "shutting_down");
});

test("a full queue of the process says that it is full and when to retry", async () => {
  const { link, sendText } = pretend((sent, say) => {
    if (sent.type !== "request") return;
    const message = "The drawing program has a full queue. Retry in a second.";
    say({ type: "refused", id: sent.id, error: "overloaded", message });
  });
  const error = await sendText("a").catch((reason: unknown) => reason as GatewayError);
  expect(error).toMatchObject({
    kind: "overloaded",
    message: "The drawing program has a full queue. Retry in a second.",
    details: { retryAfterMs: 1000, notSent: true },
  });
  await link.close();
});

test("a model that cannot be loaded fails fast during the backoff, then is started again", async () => {
  const { sendText, loaded, alive, wait } = pretend((sent, say) => {
    if (sent.type === "load")
      say({ type: "failed", error: "upstream_error", message: "no weights" });
  });
  await expectError(sendText("a"), "upstream_error", /no weights/);
  await expectError(sendText("b"), "upstream_error", /no weights/);
  expect(loaded).toHaveLength(1);
  expect(alive()).toBe(0);
  wait(600);
  await expectError(sendText("c"), "upstream_error", /no weights/);
  expect(loaded).toHaveLength(2);
});

test("processes in a row that died before they were ready are counted", async () => {
  const { link, sendText, loaded } = pretend((sent, say, die) => {
    if (sent.type === "load" && sent.spec < 2) return die();
    if (sent.type === "load") say({ type: "ready", metadata: {} });
    if (sent.type === "request") say({ type: "part", id: sent.id, part: "done", last: true });
  });
  await expectError(sendText("a"), "upstream_unreachable", /SIGILL/);
  await expectError(sendText("b"), "upstream_unreachable", /SIGILL/);
  expect(await sendText("c")).toBe("done");
  expect(loaded).toEqual([0, 1, 2]);
  await link.close();
});

test("a hung process is killed when a client cancels its request", async () => {
  const { sendText, alive, wait, loaded } = pretend(() => {});
  const [first, second] = [new AbortController(), new AbortController()];
  const calls = [sendText("a", first.signal), sendText("b", second.signal), sendText("c")];
  const errors = [
    expectError(calls[0]!, "client_closed"),
    expectError(calls[1]!, "client_closed"),
    expectError(calls[2]!, "upstream_unreachable", /stuck/),
  ];
  wait(1_000);
  first.abort();
  expect(alive()).toBe(1);
  wait(1_500);
  second.abort();
  await Promise.all(errors);
  expect(alive()).toBe(0);
  expect(loaded).toHaveLength(1);
});

test("messages of a process after its end are ignored", async () => {
  const ends: (() => void)[] = [];
  const { link, sendText } = pretend((sent, say, die) => {
    if (sent.type !== "request") return;
    if (sent.request === "lost") {
      ends.push(() => say({ type: "part", id: sent.id + 1, part: "ghost", last: true }));
      return die();
    }
    say({ type: "part", id: sent.id, part: "real", last: true });
  });
  await expectError(sendText("lost"), "upstream_unreachable");
  const response = sendText("next");
  for (const end of ends) end();
  expect(await response).toBe("real");
  await link.close();
});

test("an idle model accepts the largest request that the gateway reads", async () => {
  const embedder = createEmbedder(
    { id: "m", name: "The model" },
    { kind: "minilm" },
    { spawn: () => ({ pid: 1, send: () => {}, kill: () => {}, exited: Promise.resolve("") }) },
  );
  const most = Math.floor(readSettings({}).VEXEL_MAX_BODY_BYTES / maxCharacters);
  const long = Array<string>(most).fill("a".repeat(maxCharacters));
  const short = Array<string>(2048 - most).fill("a");
  const embedding = embedder.embed(textQuery([...long, ...short]), never);
  expect(embedder.state().requests).toBe(1);
  await expectError(embedding, "upstream_unreachable", /The model has stopped/);
});

test("a batch contains the first queued input, no duplicates, and stays within its limits", () => {
  const lengths = fc.array(fc.integer({ min: 2, max: 256 }), { minLength: 1, maxLength: 400 });
  const limit = fc.record({
    inputs: fc.integer({ min: 1, max: 64 }),
    tokens: fc.integer({ min: 1, max: 2_000 }),
  });
  fc.assert(
    fc.property(lengths, limit, (waiting, limits) => {
      const batch = planBatch(waiting, limits);
      const accepted = batch.map((index) => waiting[index]!);
      const longest = Math.max(...accepted);
      expect(batch[0]).toBe(0);
      expect(new Set(batch).size).toBe(batch.length);
      expect(batch.length).toBeLessThanOrEqual(limits.inputs);
      if (batch.length > 1) expect(longest * batch.length).toBeLessThanOrEqual(limits.tokens);
      expect(Math.min(...accepted) * 2).toBeGreaterThanOrEqual(longest);
    }),
  );
});
