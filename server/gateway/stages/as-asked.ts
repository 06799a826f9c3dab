/** A stream for those who asked for one and a whole answer for those who did not, whatever the upstream gave. */
import { GatewayError } from "../../std/gateway-error.ts";
import type {
  GenerationQuery,
  ImageEvent,
  ImageReply,
  ImageResult,
  ImageUsage,
} from "../../upstream/contract.ts";
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
  for (const [at, { image, rest }] of reply.results.entries()) {
    const last = at === reply.results.length - 1;
    yield {
      type: "completed",
      base64: toBase64(image),
      ...(reply.created !== undefined && { created: reply.created }),
      ...reply.facts,
      // One answer has one usage: it is told once.
      ...(last && reply.usage && { usage: reply.usage }),
      ...(rest && { rest }),
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
  let usage: ImageUsage | undefined;
  let facts = {};
  for await (const event of events) {
    if (event.type !== "completed") continue;
    const { size, quality, background, output_format } = event;
    facts = JSON.parse(JSON.stringify({ size, quality, background, output_format }));
    results.push({ image: { kind: "base64", base64: event.base64 } });
    usage = event.usage ?? usage;
  }
  return { kind: "whole", results, facts, ...(usage && { usage }) };
}
