/** Reads an error response: its body can be read only once, and not all of its text is for clients. */

import { ChunkedBytes } from "../../../lib/chunked-bytes.ts";
import { parseUpstreamJson } from "../../../lib/upstream-json.ts";
import type { UpstreamResponse } from "../../adapter.ts";

/** An error page may be long; its beginning is enough to classify it. */
const maxErrorBytes = 64 * 1024;

/** The error body, parsed if it is JSON. */
export async function readErrorBody(response: UpstreamResponse): Promise<unknown> {
  try {
    return await parseUpstreamJson(await response.text(maxErrorBytes));
  } catch {
    return undefined;
  }
}

/**
 * A response with this body again. Also for an error inside a successful response, with the status that it should have
 * had.
 */
export function replayBody(
  { headers, status: had }: UpstreamResponse,
  body: unknown,
  status = had,
): UpstreamResponse {
  const text = JSON.stringify(body) ?? "";
  const bytes = async () => ChunkedBytes.of(new TextEncoder().encode(text));
  return {
    status,
    headers,
    json: async () => body,
    text: async () => text,
    bytes,
    chunks: async function* () {
      yield* (await bytes()).list;
    },
  };
}

/** Shorter names would match unrelated words. */
const shortestName = 5;

/**
 * Redacts these names: projects, accounts and hosts are the operator's. Longest first, because some names contain
 * others.
 */
export const without = (message: string, names: readonly (string | undefined)[]): string =>
  names
    .filter((name) => name !== undefined && name.length >= shortestName)
    .toSorted((a = "", b = "") => b.length - a.length)
    .reduce<string>((safe, name = "") => safe.replaceAll(name, "***"), message);
