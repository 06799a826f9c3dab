/** A failure in a vendor's own words, put into OpenAI's: then one reader, upstream-fault.ts, understands them all. */
import type { WireReply } from "../adapter.ts";

export interface Rephrased {
  /** What OpenAI would have answered. */
  readonly status: number;
  /** Only where it speaks of the caller's request; what it says of our account is nobody's business. */
  readonly message?: string | undefined;
  readonly code?: string | undefined;
  /** Where the vendor says it in the body. A header wins. */
  readonly retryAfterMs?: number | undefined;
}

export function rephrase({ headers }: WireReply, said: Rephrased): WireReply {
  const { status, message, code, retryAfterMs } = said;
  const text = JSON.stringify({ error: { message, code } });
  const waits = headers.has("retry-after") || headers.has("retry-after-ms");
  const get = (name: string): string | null =>
    name === "retry-after-ms" && !waits && retryAfterMs !== undefined
      ? String(retryAfterMs)
      : headers.get(name);
  return {
    status,
    headers: { get, has: (name) => get(name) !== null },
    json: async () => JSON.parse(text) as unknown,
    text: async () => text,
    bytes: async () => new TextEncoder().encode(text),
    chunks: async function* () {
      yield new TextEncoder().encode(text);
    },
  };
}

/** An error page may be long; its beginning is enough to tell what it is. */
const maxErrorBytes = 64 * 1024;

/** What the vendor said, as JSON where it is JSON. */
export async function readRefusal(reply: WireReply): Promise<unknown> {
  try {
    return JSON.parse(await reply.text(maxErrorBytes));
  } catch {
    return undefined;
  }
}

/** Shorter ones would be found in words that have nothing to do with them. */
const shortestName = 5;

/** Words without these names: projects, accounts and hosts are the operator's. Long ones first: some hold others. */
export const without = (
  words: string | undefined,
  names: readonly (string | undefined)[],
): string | undefined =>
  names
    .filter((name) => name !== undefined && name.length >= shortestName)
    .toSorted((a = "", b = "") => b.length - a.length)
    .reduce((safe, name = "") => safe?.replaceAll(name, "***"), words);
