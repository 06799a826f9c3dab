/**
 * Keep-alive for buffered responses behind proxies that close idle connections: after `ms` the response begins with
 * spaces, which JSON allows before its first brace. Its status is 200 by then, so an error, and all later response
 * headers, are reported in the body only.
 */
import { ignoreRejection, startGenerator } from "../lib/tasks.ts";
import { withTimeout } from "../lib/timers.ts";
import type { OutgoingResponse, StreamChunk, StreamedResponseBody } from "../request/http-types.ts";

export async function keepAlive(
  outcome: Promise<OutgoingResponse>,
  ms: number,
): Promise<OutgoingResponse> {
  const early = await withTimeout(outcome, ms);
  if (early) return early;
  return {
    status: 200,
    headers: { "content-type": "application/json", "vexel-keep-alive": "true" },
    body: startGenerator(withLeadingSpaces(outcome, ms)),
  };
}

async function* withLeadingSpaces(
  outcome: Promise<OutgoingResponse>,
  ms: number,
): AsyncGenerator<StreamChunk> {
  let outgoing: OutgoingResponse | undefined;
  try {
    while (!outgoing) {
      yield " ";
      outgoing = await withTimeout(outcome, ms);
    }
  } finally {
    // The client disconnected while it was waiting: the response will still arrive, and no other code closes it.
    if (!outgoing) ignoreRejection(outcome.then(discard));
  }
  yield* withStatusMember(statusAndHeaders(outgoing), chunksOf(outgoing.body));
}

async function discard({ body }: OutgoingResponse): Promise<void> {
  if (typeof body === "object" && "close" in body) await body.close(false);
}

/** The status and headers that can no longer be sent in the head of the response. Undefined if there are none. */
function statusAndHeaders({ status, headers }: OutgoingResponse): string | undefined {
  const { "content-type": _, ...unsentHeaders } = headers;
  if (status === 200 && Object.keys(unsentHeaders).length === 0) return undefined;
  return JSON.stringify({ status, headers: unsentHeaders });
}

/** Inserted as the first member of the response, which is a non-empty JSON object. Clients ignore unknown members. */
async function* withStatusMember(
  statusJson: string | undefined,
  chunks: AsyncIterable<StreamChunk>,
): AsyncGenerator<StreamChunk> {
  let isFirst = statusJson !== undefined;
  for await (const chunk of chunks) {
    if (isFirst && chunk.length > 0) {
      isFirst = false;
      yield `{"vexel":${statusJson},`;
      yield typeof chunk === "string" ? chunk.slice(1) : chunk.subarray(1);
    } else yield chunk;
  }
}

async function* chunksOf(body: OutgoingResponse["body"]): AsyncGenerator<StreamChunk> {
  if (typeof body === "string" || body instanceof Uint8Array) yield body;
  else if ("open" in body) yield* readAndClose(body);
  else yield* body;
}

async function* readAndClose(body: StreamedResponseBody): AsyncGenerator<StreamChunk> {
  let complete = false;
  try {
    yield* body.open();
    complete = true;
  } finally {
    await body.close(complete);
  }
}
