/** The request timeout and the client's disconnect, as one signal. */
import { expect, test } from "bun:test";
import { Deadline, SignalClient } from "../../server/request/deadline.ts";

const connected = (): AbortSignal => new AbortController().signal;

const startDeadline = (client: AbortSignal, timeoutMs: number): Deadline =>
  new Deadline({
    client: new SignalClient(client),
    timeoutMs,
    clock: () => performance.now(),
  });

test("a disconnect of the client aborts the request at once", () => {
  const client = new AbortController();
  const deadline = startDeadline(client.signal, 60_000);
  expect(deadline.signal.aborted).toBe(false);
  client.abort();
  expect(deadline.signal).toMatchObject({ aborted: true, reason: { kind: "client_closed" } });
  deadline.end();
});

test("the timeout of the request that a request is part of aborts it with upstream_timeout", async () => {
  const whole = startDeadline(connected(), 2);
  const part = startDeadline(whole.signal, 60_000);
  await new Promise((resolve) => part.signal.addEventListener("abort", resolve));
  expect(part.signal.reason).toMatchObject({ kind: "upstream_timeout" });
  part.end();
  whole.end();
});

test("a client that disconnected before the request started aborts it as well", () => {
  const deadline = startDeadline(AbortSignal.abort(), 60_000);
  expect(deadline.signal).toMatchObject({ aborted: true, reason: { kind: "client_closed" } });
  deadline.end();
});

test("the timeout aborts the request, and not after the request has ended", async () => {
  const [first, ended] = [startDeadline(connected(), 2), startDeadline(connected(), 1)];
  ended.end();
  await new Promise((resolve) => first.signal.addEventListener("abort", resolve));
  expect(first.signal.reason).toMatchObject({ kind: "upstream_timeout" });
  expect(ended.signal.aborted).toBe(false);
});

test("a request that never needs the signal creates neither a signal nor a timer", () => {
  let wasRead = false;
  const client = {
    get signal() {
      wasRead = true;
      return new AbortController().signal;
    },
    setDisconnectListener: () => {
      wasRead = true;
    },
  };
  const deadline = new Deadline({ client, timeoutMs: 60_000, clock: () => 0 });
  expect(deadline.usedSignal).toBeUndefined();
  deadline.end();
  expect(wasRead).toBe(false);
});

test("the timeout counts from the start of the request, not from the first use of its signal", async () => {
  let now = 0;
  const deadline = new Deadline({
    client: new SignalClient(connected()),
    timeoutMs: 60_000,
    clock: () => now,
  });
  now = 60_000;
  await new Promise((resolve) => deadline.signal.addEventListener("abort", resolve));
  expect(deadline.signal.reason).toMatchObject({ kind: "upstream_timeout" });
  deadline.end();
});

test("a request that may continue is not aborted by a disconnect, until no other request needs it", () => {
  const client = new AbortController();
  const deadline = startDeadline(client.signal, 60_000);
  const { signal } = deadline;
  let [waiters, disconnects] = [1, 0];
  deadline.sharedResult = { hasWaiters: () => waiters > 0 };
  deadline.addDisconnectListener(() => disconnects++);
  client.abort();
  expect([signal.aborted, disconnects]).toEqual([false, 1]);
  waiters = 0;
  deadline.abortIfDisconnected();
  expect(signal).toMatchObject({ aborted: true, reason: { kind: "client_closed" } });
  deadline.end();
});

test("an attempt that still runs when the request ends is canceled", () => {
  const [canceled, other] = [
    startDeadline(connected(), 60_000),
    startDeadline(connected(), 60_000),
  ];
  const signals = [canceled.signal, other.signal];
  canceled.abortAtEnd();
  canceled.end();
  other.end();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});
