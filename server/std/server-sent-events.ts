/** Server-sent events out of a stream of bytes, as the standard has them: any line ending, comments skipped. */
import { GatewayError } from "./gateway-error.ts";

export interface ServerSentEvent {
  readonly event: string;
  readonly data: string;
}

export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<ServerSentEvent> {
  let event = "";
  let data: string[] = [];
  for await (const line of readLines(chunks, maxBytes)) {
    if (line === "") {
      if (data.length > 0) yield { event, data: data.join("\n") };
      event = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  // An event without its closing blank line was cut off; the standard says to drop it.
}

/** Pieces of a long line are gathered in a list: adding to one string again and again would copy it each time. */
async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let held = 0;
  let afterReturn = false;
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    if (afterReturn && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") afterReturn = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    const last = lines.pop() as string;
    for (const line of lines) {
      yield pieces.join("") + line;
      pieces = [];
      held = 0;
    }
    if (last !== "") {
      pieces.push(last);
      held += last.length;
      if (held > maxBytes) {
        throw new GatewayError("upstream_invalid", "An event of the stream is too large.");
      }
    }
  }
}
