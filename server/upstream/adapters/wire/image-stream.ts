/** Reads streamed responses: server-sent events with JSON, until the last event. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { RequestTemp } from "../../../lib/request-temp.ts";
import { readServerSentEvents } from "../../../lib/server-sent-events.ts";
import type { UpstreamResponse } from "../../adapter.ts";
import type { ExtraFields } from "../../contract.ts";
import { DocumentReader, LongTexts } from "./document.ts";
import { asObject } from "./members.ts";

/** One event has one image. */
const maxEventBytes = 96 * 1024 * 1024;

export const isEventStream = ({ headers }: UpstreamResponse): boolean =>
  /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");

export interface ImageStreamEvent {
  /** The event's name in the stream; empty if it has none. */
  readonly name: string;
  readonly payload: ExtraFields;
}

/** Large images in them are spilled to disk, as in a buffered response. */
export async function* readImageStream(
  chunks: AsyncIterable<Uint8Array>,
  temp: RequestTemp,
): AsyncGenerator<ImageStreamEvent> {
  const texts = new LongTexts(temp);
  const open = () => new DocumentReader(texts);
  const events = readServerSentEvents(texts.releasing(chunks), open, maxEventBytes);
  for await (const { event: name, data, isUnclosed } of events) {
    const around = data.text.trim();
    if (around === "[DONE]") return;
    // An empty event or a keep-alive.
    if (around === "" || name === "ping") continue;
    const payload = isUnclosed ? completeIn(data) : asObject(data.end(notJson));
    if (!payload && isUnclosed) return;
    if (!payload) throw new GatewayError("upstream_invalid", notJson);
    yield { name, payload };
  }
}

const notJson = "The upstream's stream holds an event that is not JSON.";

/** The data of an event that the stream may have cut off: undefined where it is not a complete JSON object. */
function completeIn(data: DocumentReader): ExtraFields | undefined {
  try {
    return asObject(data.end(notJson));
  } catch {
    return undefined;
  }
}
