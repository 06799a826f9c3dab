/** A stream for those who asked for one and a whole answer for those who did not, whatever the upstream gave. */
import { GatewayError } from "../../std/gateway-error.ts";
import type {
  GenerationQuery,
  ImageEvent,
  ImageReply,
  ImageResult,
} from "../../upstream/contract.ts";
import { sumOf } from "../image-usage.ts";
import type { Stage } from "./stage.ts";

type Whole = Extract<ImageReply, { kind: "whole" }>;

export const asAsked =
  <Q extends GenerationQuery>(): Stage<Q, ImageReply> =>
  (next) =>
  async (call) => {
    const reply = await next(call);
    if (call.query.stream) {
      return reply.kind === "stream" ? reply : { kind: "stream", events: toEvents(reply) };
    }
    return reply.kind === "whole" ? reply : gather(reply.events);
  };

async function* toEvents(reply: Whole): AsyncGenerator<ImageEvent> {
  for (const [at, { image, rest, revised_prompt }] of reply.results.entries()) {
    const last = at === reply.results.length - 1;
    yield {
      type: "completed",
      base64: toBase64(image),
      ...(reply.created !== undefined && { created: reply.created }),
      ...reply.facts,
      // One answer has one usage: it is told once.
      ...(last && reply.usage && { usage: reply.usage }),
      rest: { ...reply.rest, ...rest, ...(revised_prompt !== undefined && { revised_prompt }) },
    };
  }
}

function toBase64(image: ImageResult["image"]): string {
  if (image.kind === "base64") return image.base64;
  if (image.kind === "bytes") return Buffer.from(image.bytes).toString("base64");
  throw new GatewayError(
    "upstream_invalid",
    "The upstream gave a link, which a stream cannot carry. Ask without stream.",
  );
}

async function gather(events: AsyncIterable<ImageEvent>): Promise<ImageReply> {
  const results: ImageResult[] = [];
  let whole: Omit<Whole, "kind" | "results"> = { facts: {} };
  for await (const { type, base64, index: _, created, usage, rest, ...facts } of events) {
    if (type !== "completed") continue;
    results.push({ image: { kind: "base64", base64 } });
    const spent = sumOf(whole.usage, usage);
    whole = {
      ...(created !== undefined && { created }),
      facts,
      ...(spent && { usage: spent }),
      rest: { ...whole.rest, ...rest },
    };
  }
  return { kind: "whole", results, ...whole };
}
