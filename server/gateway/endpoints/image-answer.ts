/** How pictures leave: as one JSON answer, or as server-sent events. */
import type {
  ImageEvent,
  ImageOptions,
  ImageReply,
  ImageResult,
  ImageUsage,
} from "../../upstream/contract.ts";
import type { Usage, WriteContext, Written } from "../endpoint.ts";
import { sumOf } from "../image-usage.ts";
import type { Chunk } from "../stream.ts";

export interface ImageContext extends WriteContext {
  /** The first half of the event names. */
  readonly family: "image_generation" | "image_edit";
  readonly options: ImageOptions;
}

export async function writeImages(reply: ImageReply, context: ImageContext): Promise<Written> {
  return reply.kind === "stream" ? writeStream(reply.events, context) : writeWhole(reply, context);
}

async function writeWhole(
  reply: Extract<ImageReply, { kind: "whole" }>,
  context: ImageContext,
): Promise<Written> {
  const results = await Promise.all(
    reply.results.map(async (result) => ({
      ...result.rest,
      ...(await handOver(result.image, context)),
      ...(result.revised_prompt !== undefined && { revised_prompt: result.revised_prompt }),
    })),
  );
  const { safety_identifier } = context.options;
  return {
    kind: "whole",
    body: JSON.stringify({
      created: reply.created ?? context.now,
      ...reply.facts,
      ...(safety_identifier !== undefined && { safety_identifier }),
      ...reply.rest,
      data: results,
      ...(reply.usage && { usage: reply.usage }),
    }),
    usage: toUsage(reply.usage, reply.results.length),
  };
}

/** Pictures that came as bytes leave as the caller asked; base64 and links leave as they came. */
async function handOver(
  image: ImageResult["image"],
  { options, keepPicture, publicUrl }: ImageContext,
): Promise<{ url: string } | { b64_json: string }> {
  if (image.kind === "url") return { url: image.url };
  if (options.response_format === "url") {
    const bytes = image.kind === "bytes" ? image.bytes : Buffer.from(image.base64, "base64");
    return { url: await keepPicture(bytes, publicUrl()) };
  }
  return {
    b64_json: image.kind === "base64" ? image.base64 : Buffer.from(image.bytes).toString("base64"),
  };
}

function writeStream(events: AsyncIterable<ImageEvent>, context: ImageContext): Written {
  let images = 0;
  let spent: ImageUsage | undefined;
  async function* chunks(): AsyncIterable<Chunk> {
    for await (const event of events) {
      if (event.type === "completed") {
        images++;
        spent = sumOf(spent, event.usage);
      }
      yield { text: frame(event, context), closing: event.type === "completed" };
    }
  }
  return {
    kind: "stream",
    chunks: chunks(),
    usage: () => (images === 0 ? undefined : toUsage(spent, images)),
  };
}

function frame(event: ImageEvent, { family, now }: ImageContext): string {
  const { type, base64, created, index, usage, rest, ...facts } = event;
  const name = `${family}.${type === "partial" ? "partial_image" : "completed"}`;
  const payload = {
    ...rest,
    type: name,
    b64_json: base64,
    created_at: created ?? now,
    ...facts,
    ...(index !== undefined && { partial_image_index: index }),
    ...(usage && { usage }),
  };
  return `event: ${name}\ndata: ${JSON.stringify(payload)}\n\n`;
}

const toUsage = (usage: ImageUsage | undefined, images: number): Usage => ({
  ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  images,
});
