/**
 * Groups the lines of a range: embedding lines that run concurrently, or one image line. Splits the response to lines
 * that were sent as one request, and joins the small chunks of results.
 */
import { copyOf } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { jsonLength } from "../lib/large-json.ts";
import { generatesImages } from "../request/operation.ts";
import { chunksOf, type JobLine, type LineResult } from "./job-kind.ts";

/** The most lines that run concurrently, and the most inputs that they have together: their results are in memory. */
const maxLines = 128;
const maxInputs = 2048;
/**
 * The most JSON text that they have together, unless one line has more: about the tokens of OpenAI's largest request.
 */
const maxLength = 1024 * 1024;

export async function* groupLines(
  lines: AsyncIterable<JobLine>,
): AsyncGenerator<readonly JobLine[]> {
  let group: JobLine[] = [];
  let [inputs, length] = [0, 0];
  for await (const line of lines) {
    const count = inputsOf(line);
    const more = jsonLength(line.body, maxLength);
    const isFull =
      group.length >= maxLines || inputs + count > maxInputs || length + more > maxLength;
    if (isFull && group.length > 0) {
      yield group;
      group = [];
      [inputs, length] = [0, 0];
    }
    group.push(line);
    inputs += count;
    length += more;
  }
  if (group.length > 0) yield group;
}

/** An image line fills a group. The pipeline refuses an input that is not valid. */
function inputsOf({ operation, body }: JobLine): number {
  if (generatesImages(operation)) return maxInputs + 1;
  const input =
    typeof body === "object" && body !== null && "input" in body ? body.input : undefined;
  return Array.isArray(input) ? input.length : 1;
}

/** Undefined if the request failed, and each line is sent by itself. */
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

/** Chunks are joined up to this size. */
const joinedBytes = 256 * 1024;

/** So that few chunks are written. Large ones are kept: their copy would take milliseconds. */
export function joinSmall(chunks: readonly Uint8Array[]): Uint8Array[] {
  const groups: Uint8Array[][] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    bytes += chunk.length;
    const last = groups.at(-1);
    if (last && bytes <= joinedBytes) last.push(chunk);
    else {
      groups.push([chunk]);
      bytes = chunk.length;
    }
  }
  return groups.map(([first, ...others]) =>
    others.length === 0 && first ? first : Buffer.concat([first as Uint8Array, ...others]),
  );
}
