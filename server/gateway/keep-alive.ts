/**
 * For whole answers behind proxies that hang up on silence: after a while the answer begins, with spaces, which JSON allows
 * before its first brace. The status is 200 by then, so a failure is told in the body alone.
 */
import { orAfter } from "../std/or-after.ts";
import type { Leaving, Outgoing } from "./incoming.ts";

export async function stayAlive(outcome: Promise<Outgoing>, ms: number): Promise<Outgoing> {
  const soon = await orAfter(outcome, ms);
  if (soon) return soon;
  return {
    status: 200,
    headers: { "content-type": "application/json", "vexel-keep-alive": "true" },
    body: spaced(outcome, ms),
  };
}

async function* spaced(
  outcome: Promise<Outgoing>,
  ms: number,
): AsyncGenerator<string | Uint8Array> {
  let outgoing: Outgoing | undefined;
  while (!outgoing) {
    yield " ";
    outgoing = await orAfter(outcome, ms);
  }
  const { body } = outgoing;
  if (typeof body === "string" || body instanceof Uint8Array) yield body;
  else if (body instanceof Blob) yield* body.stream();
  else if ("open" in body) yield* all(body);
  else yield* body;
}

async function* all(body: Leaving): AsyncGenerator<Uint8Array> {
  let complete = false;
  try {
    yield* body.open();
    complete = true;
  } finally {
    await body.close(complete);
  }
}
