/** The results of lines, also of lines that were sent as one request. */
import { copyOf } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { chunksOf, type LineResult } from "./job-kind.ts";

/** Undefined: the request failed, and each line is sent by itself. */
export async function resultsOfLines(
  result: LineResult,
  lines: number,
): Promise<readonly LineResult[] | undefined> {
  // The key was revoked, or the job ends: this holds for each line.
  if (result.kind === "none") return Array.from({ length: lines }, () => result);
  const bodies: Uint8Array[] = [];
  for await (const chunk of chunksOf(result.body)) bodies.push(copyOf(chunk));
  await result.close();
  if (!isSuccessful(result)) return undefined;
  if (bodies.length !== lines)
    throw new GatewayError("internal", `${lines} merged lines have ${bodies.length} responses.`);
  const { kind, status, requestId, headers } = result;
  const close = async (): Promise<void> => undefined;
  return bodies.map((body) => ({ kind, status, requestId, headers, body, close }));
}

export const isSuccessful = (result: LineResult): boolean =>
  result.kind === "response" && result.status >= 200 && result.status <= 299;
