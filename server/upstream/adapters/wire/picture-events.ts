/** Answers that come as a stream: events that each hold JSON, until one says that it was the last. */
import { GatewayError } from "../../../std/gateway-error.ts";
import { readEvents } from "../../../std/server-sent-events.ts";
import type { WireReply } from "../../adapter.ts";
import type { Rest } from "../../contract.ts";
import { asObject } from "./members.ts";

/** One event holds one picture. */
const maxEventBytes = 96 * 1024 * 1024;

export const isStream = ({ headers }: WireReply): boolean =>
  /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");

export interface PictureEvent {
  /** What the stream calls it; empty where it does not. */
  readonly name: string;
  readonly payload: Rest;
}

export async function* readPictureEvents(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<PictureEvent> {
  for await (const { event: name, data } of readEvents(chunks, maxEventBytes)) {
    if (data === "[DONE]") return;
    yield { name, payload: parsed(data) };
  }
}

function parsed(text: string): Rest {
  let cause: unknown;
  try {
    const payload = asObject(JSON.parse(text));
    if (payload) return payload;
  } catch (error) {
    cause = error;
  }
  throw new GatewayError(
    "upstream_invalid",
    "The upstream's stream holds an event that is not JSON.",
    { cause },
  );
}
