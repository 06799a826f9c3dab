/** The request timeout and the client's disconnect, as one signal. */
import { expect, test } from "bun:test";
import { Deadline } from "../../server/request/deadline.ts";

test("a disconnect of the client aborts the request at once", () => {
  const client = new AbortController();
  const deadline = new Deadline(client.signal, 60_000);
  expect(deadline.signal.aborted).toBe(false);
  client.abort();
  expect(deadline.signal).toMatchObject({ aborted: true, reason: { kind: "client_closed" } });
  deadline.end();
});

test("a client that disconnected before the request started aborts it as well", () => {
  const deadline = new Deadline(AbortSignal.abort(), 60_000);
  expect(deadline.signal).toMatchObject({ aborted: true, reason: { kind: "client_closed" } });
  deadline.end();
});

test("the timeout aborts the request, and not after the request has ended", async () => {
  const [first, ended] = [new Deadline(undefined, 2), new Deadline(undefined, 1)];
  ended.end();
  await new Promise((resolve) => first.signal.addEventListener("abort", resolve));
  expect(first.signal.reason).toMatchObject({ kind: "upstream_timeout" });
  expect(ended.signal.aborted).toBe(false);
});
