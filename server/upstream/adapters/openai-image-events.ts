/** A stream of pictures as OpenAI sends it, read event by event. */
import { GatewayError } from "../../std/gateway-error.ts";
import { readEvents } from "../../std/server-sent-events.ts";
import type { FaultContext } from "../adapter.ts";
import type { ImageEvent } from "../contract.ts";
import { bareBase64 } from "./bare-base64.ts";
import { isUsage } from "./openai-image-usage.ts";
import { readStreamFault } from "./upstream-fault.ts";

/** One event holds one picture. */
const maxEventBytes = 96 * 1024 * 1024;

export async function* readImageEvents(
  chunks: AsyncIterable<Uint8Array>,
  context: FaultContext,
): AsyncGenerator<ImageEvent> {
  for await (const { event: name, data } of readEvents(chunks, maxEventBytes)) {
    if (data === "[DONE]") return;
    const payload = parse(data);
    if (payload.error || name === "error" || payload.type === "error") {
      throw readStreamFault(payload, context);
    }
    const event = toEvent(payload);
    if (event) yield event;
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below: what matters is that it is not an event.
  }
  throw new GatewayError(
    "upstream_invalid",
    "The upstream's stream holds an event that is not JSON.",
  );
}

/** Undefined for kinds of event that this version does not know; they carry no picture. */
function toEvent(payload: Record<string, unknown>): ImageEvent | undefined {
  // The upstream's name for the model is not the caller's.
  const { type, b64_json, created_at, partial_image_index, usage, model: _, ...others } = payload;
  const partial = typeof type === "string" && type.endsWith(".partial_image");
  const completed = typeof type === "string" && type.endsWith(".completed");
  if ((!partial && !completed) || typeof b64_json !== "string") return undefined;
  const { size, quality, background, output_format, ...rest } = others;
  const facts = Object.fromEntries(
    Object.entries({ size, quality, background, output_format }).filter(
      ([, value]) => typeof value === "string",
    ),
  );
  return {
    type: partial ? "partial" : "completed",
    base64: bareBase64(b64_json),
    ...facts,
    ...(Number.isSafeInteger(created_at) && { created: created_at as number }),
    ...(Number.isSafeInteger(partial_image_index) && { index: partial_image_index as number }),
    ...(isUsage(usage) && { usage }),
    rest,
  };
}
