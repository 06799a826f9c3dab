/** A stream for those who asked for one and a whole answer for those who did not, whatever the upstream gave. */
import type {
  GenerationQuery,
  ImageEvent,
  ImageFrame,
  ImageReply,
  ImageResult,
  WholeReply,
} from "../../upstream/contract.ts";
import { sumOf } from "../image-usage.ts";
import { inBase64 } from "../pictures/look.ts";
import { lie } from "../verify.ts";
import type { Stage } from "./stage.ts";

export const asAsked =
  <Q extends GenerationQuery>(): Stage<Q, ImageReply> =>
  (next) =>
  async (call) => {
    // At once: while an upstream that does not stream is drawing, the caller hears that it goes on.
    if (call.query.stream) return { kind: "stream", events: toFrames(() => next(call)) };
    const reply = await next(call);
    return reply.kind === "whole" ? reply : gather(reply.events);
  };

async function* toFrames(ask: () => Promise<ImageReply>): AsyncGenerator<ImageEvent> {
  const reply = await ask();
  if (reply.kind === "whole") yield* framesOf(reply);
  else {
    for await (const event of reply.events) {
      if (event.type === "whole") yield* framesOf(event.reply);
      else yield event;
    }
  }
}

async function* framesOf(reply: WholeReply): AsyncGenerator<ImageFrame> {
  for (const [at, { image, rest, revised_prompt }] of reply.results.entries()) {
    const last = at === reply.results.length - 1;
    if (image.kind === "url") throw lie("a link, which a stream cannot carry");
    yield {
      type: "completed",
      base64: await inBase64(image),
      ...(reply.created !== undefined && { created: reply.created }),
      ...reply.facts,
      // One answer has one usage: it is told once.
      ...(last && reply.usage && { usage: reply.usage }),
      rest: { ...reply.rest, ...rest, ...(revised_prompt !== undefined && { revised_prompt }) },
    };
  }
}

async function gather(events: AsyncIterable<ImageEvent>): Promise<WholeReply> {
  const results: ImageResult[] = [];
  let whole: Omit<WholeReply, "kind" | "results"> = { facts: {} };
  for await (const event of events) {
    if (event.type === "whole") {
      const { kind: _, results: more, usage, ...others } = event.reply;
      const spent = sumOf(whole.usage, usage);
      results.push(...more);
      whole = { ...whole, ...others, ...(spent && { usage: spent }) };
      continue;
    }
    const { type, base64, index: _, created, usage, rest, ...facts } = event;
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
