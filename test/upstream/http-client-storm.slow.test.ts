/**
 * Many concurrent requests that are cut off, aborted and reset: each gets its own response or an error, never
 * another's.
 */

import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { UpstreamConnection } from "../../server/upstream/transport/connection.ts";
import { ConnectionPool, ReuseBlocks } from "../../server/upstream/transport/connection-pool.ts";
import { tries } from "../depth.ts";
import { root } from "../harness.ts";
import { until } from "../until.ts";
import { echo, ok, type ReceivedRequest, rawServer, testClient } from "./http-client-fixture.ts";

const often = <T>(usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });

const plan = fc.record({
  behavior: often(
    "well",
    fc.constantFrom("more", "twice", "close", "rude", "fickle", "reset", "silent", "half"),
  ),
  framing: fc.constantFrom("sized", "chunked", "until-close"),
  delayMs: fc.constantFrom(0, 0, 1, 4),
  chunks: fc.integer({ min: 1, max: 3 }),
  words: fc.string({ unit: "binary", maxLength: 50 }),
  givesUpAfterMs: often<number | undefined>(undefined, fc.constantFrom(0, 1, 3)),
  isNonIdempotent: often(false, fc.constant(true)),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;
type PlannedRequest = Plan & { readonly nonce: number };

/** These end without a response, whatever the client does. */
const lost = new Set(["reset", "silent", "half"]);

function responseTo(body: string, { framing }: Plan): string {
  if (framing === "until-close") return `HTTP/1.1 200 OK\r\n\r\n${body}`;
  if (framing === "sized") return ok(body);
  const size = Buffer.byteLength(body).toString(16);
  return `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\n\r\n`;
}

async function response({ socket, turn, body }: ReceivedRequest): Promise<void> {
  const text = body.toString();
  const planned = JSON.parse(text) as PlannedRequest;
  const { behavior, framing, delayMs, chunks } = planned;
  await Bun.sleep(delayMs);
  if (behavior === "reset") socket.resetAndDestroy();
  else if (behavior === "silent" || (behavior === "fickle" && turn > 1)) socket.end();
  else {
    const bytes = Buffer.from(responseTo(text, planned));
    const whole = behavior === "half" ? bytes.subarray(0, bytes.length / 2) : bytes;
    // Extra bytes in the same write are detected with the response; see `rude` for later bytes.
    const after = behavior === "more" ? "\r\n" : behavior === "twice" ? ok("not yours") : "";
    const size = Math.ceil(whole.length / chunks);
    for (let at = 0; at < whole.length; at += size) {
      if (at > 0) await Bun.sleep(1);
      const last = at + size >= whole.length;
      const chunk = whole.subarray(at, at + size);
      if (socket.writable) {
        socket.write(
          last && framing !== "until-close" ? Buffer.concat([chunk, Buffer.from(after)]) : chunk,
        );
      }
    }
    if (behavior === "half" && framing === "until-close") socket.resetAndDestroy();
    else if (framing === "until-close" || ["half", "close", "rude"].includes(behavior))
      socket.end();
  }
}

describe("many concurrent requests", () => {
  test("each gets its own response, or an error", async () => {
    using server = rawServer((request) => void response(request));
    // Each look at the clock is an hour later, so that connections are used again although the server responds twice.
    let hour = 0;
    using client = testClient(1_000_000, new ReuseBlocks({ clock: () => hour++ * 3_600_000 }));
    let nonce = 0;
    const one = async (plan: Plan): Promise<void> => {
      const body = JSON.stringify({ ...plan, nonce: nonce++ } satisfies PlannedRequest);
      const cancel = new AbortController();
      const { givesUpAfterMs, isNonIdempotent } = plan;
      if (givesUpAfterMs !== undefined) setTimeout(() => cancel.abort(new Error()), givesUpAfterMs);
      const outcome = await client.send(server.url, body, { isNonIdempotent }, cancel.signal).then(
        (came) => ({ came }),
        (error: Error) => ({ error }),
      );
      if ("came" in outcome) {
        expect(outcome.came).toBe(body);
        expect(lost.has(plan.behavior)).toBe(false);
      } else if (outcome.error.name === "RequestAborted") expect(cancel.signal.aborted).toBe(true);
      else {
        expect(outcome.error.name).toBe("ConnectionLost");
        expect(lost.has(plan.behavior)).toBe(true);
      }
    };
    const crowd = fc.array(plan, { minLength: 200, maxLength: 200 });
    const property = fc.asyncProperty(crowd, async (all) => {
      await Promise.all(all.map(one));
    });
    // At least two crowds: the second one uses the connections of the first.
    await fc.assert(property, { ...tries(40), endOnFailure: true });
    expect(server.opened).toBeLessThan(nonce);
    client.client.close();
    await until(() => server.open === 0);
  }, 600_000);
});

describe("idle connections", () => {
  test("are closed after the idle timeout, and used ones stay", async () => {
    using server = rawServer(echo);
    const address = { hostname: "127.0.0.1", port: Number(new URL(server.url).port) };
    const sweeps: (() => void)[] = [];
    const interval = spyOn(globalThis, "setInterval").mockImplementation(((sweep: () => void) => {
      sweeps.push(sweep);
      return Object.assign(sweep, { unref: () => sweep });
    }) as unknown as typeof setInterval);
    let now = 0;
    const clock = () => now;
    const reuseBlocks = new ReuseBlocks({ clock });
    const pool = new ConnectionPool({ clock, reuseBlocks });
    try {
      const open = () => UpstreamConnection.open(address);
      const [old, young] = [await open(), await open()];
      pool.release("here", old);
      now = 20_000;
      pool.release("here", young);
      expect(sweeps).toHaveLength(1);
      now = 31_000;
      sweeps[0]!();
      expect([old.closed, young.closed]).toEqual([true, false]);
      // The pool is last in, first out, and never returns a closed connection.
      expect(pool.takeIdle("there")).toBeUndefined();
      expect(pool.takeIdle("here")).toBe(young);
      expect(pool.takeIdle("here")).toBeUndefined();
      pool.release("here", young);
      now = 70_000;
      sweeps[0]!();
      expect(young.closed).toBe(true);
      await until(() => server.open === 0);
    } finally {
      pool.close();
      interval.mockRestore();
    }
  });

  test("are bounded: surplus connections are closed when their request ends", async () => {
    using server = rawServer((request) => void setTimeout(echo, 50, request));
    using client = testClient();
    const calls = Array.from({ length: 300 }, (_, at) => client.send(server.url, `${at}`));
    expect(await Promise.all(calls)).toEqual(calls.map((_, at) => `${at}`));
    await until(() => server.open <= 256);
  });

  test("do not outlive the HTTP client, nor do connections whose request ends after it", async () => {
    using server = rawServer((request) => void setTimeout(echo, 20, request));
    using client = testClient();
    await client.send(server.url, "a");
    const late = client.send(server.url, "b");
    await until(() => server.received.length === 2);
    const connecting = client.send(server.url, "c");
    client.client.close();
    expect([await late, await connecting]).toEqual(["b", "c"]);
    await until(() => server.open === 0);
  });

  test("do not keep the process alive", async () => {
    using server = rawServer(echo);
    const script = `
      import { createTransport } from "./server/upstream/transport/transport.ts";
      const sender = createTransport({ maxResponseBytes: 1000, clock: () => performance.now(), fetchOnly: { http: false, https: false } });
      const call = () => sender.send({ url: "${server.url}", headers: {}, body: "hello" }, new AbortController().signal);
      const replies = await Promise.all([call(), call()]);
      console.log(await replies[1].text());
      sender.close();
    `;
    const child = Bun.spawn([process.execPath, "-e", script], { cwd: root, stdout: "pipe" });
    expect(await child.stdout.text()).toBe("hello\n");
    expect(await child.exited).toBe(0);
  });
});
