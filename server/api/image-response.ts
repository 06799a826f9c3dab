/** How pictures leave: as one JSON answer, or as server-sent events. */

import { estimateImageUsage, withInputDetails } from "../images/estimate-image-usage.ts";
import { toJsonBase64 } from "../images/image-head.ts";
import { sumUsage } from "../images/image-usage.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { type StreamedString, stringifyStreamed, wrapJson } from "../lib/json-stream.ts";
import type { WriteContext, WrittenResponse } from "../pipeline/endpoint.ts";
import type { StreamEvent } from "../pipeline/stream-response.ts";
import type { Usage } from "../request/operation.ts";
import { estimatedField } from "../upstream/adapters/openai/estimated-usage.ts";
import { isOfGptFamily } from "../upstream/catalog/images/gpt-image.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageEvent,
  ImageMetadata,
  ImageResponse,
  ImageResult,
  ImageUsage,
  StreamedImage,
} from "../upstream/contract.ts";

export interface ImageContext extends WriteContext {
  /** The first half of the event names. */
  readonly family: "image_generation" | "image_edit";
  readonly query: GenerationQuery | EditQuery;
}

export async function writeImages(
  reply: ImageResponse,
  context: ImageContext,
): Promise<WrittenResponse> {
  return reply.kind === "stream"
    ? writeStream(reply.events, context)
    : writeBuffered(reply, context);
}

async function writeBuffered(
  reply: BufferedImageResponse,
  context: ImageContext,
): Promise<WrittenResponse> {
  const results: unknown[] = [];
  // One after the other: each may be a large picture.
  for (const result of reply.results) {
    results.push({
      ...result.rest,
      ...(await deliverImage(result, context)),
      ...(result.revised_prompt !== undefined && { revised_prompt: result.revised_prompt }),
    });
  }
  const { query, target } = context;
  const { safety_identifier } = query.options;
  const reported = reply.usage && (await withInputDetails(reply.usage, query));
  const estimated = !reported && isOfGptFamily(query.model, target());
  const work = { query, target: target(), facts: reply.metadata, images: reply.results.length };
  const usage = estimated ? await estimateImageUsage(work) : reported;
  return {
    kind: "whole",
    ...(estimated && { estimated }),
    body: stringifyStreamed({
      created: toUnixSeconds(reply.created) ?? context.now,
      ...reply.metadata,
      ...(safety_identifier !== undefined && { safety_identifier }),
      ...reply.rest,
      data: results,
      ...(usage && { usage }),
    }),
    usage: toLedgerUsage(reply.usage, reply.generated ?? reply.results.length),
    images: reply.results.length,
  };
}

/** Some upstreams tell milliseconds. */
const toUnixSeconds = (created: number | undefined): number | undefined =>
  created !== undefined && created > 100_000_000_000 ? Math.floor(created / 1000) : created;

/**
 * As the client asked. Where it asked for no form, images leave as they came: base64 as base64, links as links. A link that
 * could not be handed on becomes one of ours, so that code which reads `url` works; but the GPT image family has no links.
 */
async function deliverImage(
  { image, linked }: ImageResult,
  { query, target, links, publicUrl, onDropped }: ImageContext,
): Promise<{ url: string } | { b64_json: string | StreamedString }> {
  const { response_format: asked } = query.options;
  if (image.kind === "url") return { url: await links.toLastingLink(image.url, publicUrl()) };
  const asLink = asked === "url" || (linked && !isOfGptFamily(query.model, target()));
  if (!asLink) return { b64_json: toJsonBase64(image) };
  try {
    return { url: await links.store(image, publicUrl()) };
  } catch (error) {
    // It is paid for: better handed over in another way than not at all.
    if (!(error instanceof GatewayError) || error.kind !== "storage_unavailable") throw error;
    if (asked === "url") onDropped("response_format");
    return { b64_json: toJsonBase64(image) };
  }
}

function writeStream(events: AsyncIterable<ImageEvent>, context: ImageContext): WrittenResponse {
  let images = 0;
  let spent: ImageUsage | undefined;
  async function* chunks(): AsyncIterable<StreamEvent> {
    for await (const event of events) {
      if (event.type === "whole") throw new GatewayError("internal", "A stream was not cut up.");
      if (event.type === "completed") {
        images++;
        spent = sumUsage(spent, event.usage);
      }
      yield { body: await writeEvent(event, context), mayBeLast: event.type === "completed" };
    }
  }
  return {
    kind: "stream",
    chunks: chunks(),
    usage: () => (images === 0 ? undefined : toLedgerUsage(spent, images)),
  };
}

async function writeEvent(
  event: StreamedImage,
  context: ImageContext,
): Promise<StreamEvent["body"]> {
  const { family, now } = context;
  const { type, image, created, index, usage, rest, ...facts } = event;
  const name = `${family}.${type === "partial" ? "partial_image" : "completed"}`;
  const payload = {
    ...rest,
    type: name,
    b64_json: toJsonBase64(image),
    created_at: toUnixSeconds(created) ?? now,
    ...unreportedOptions,
    ...facts,
    ...(index !== undefined && { partial_image_index: index }),
    ...(type === "completed" && (await usageField(usage, facts, context))),
  };
  return wrapJson(`event: ${name}\ndata: `, stringifyStreamed(payload), "\n\n");
}

/** OpenAI's types require it of every completed image. An estimate says so, since the headers have been sent. */
async function usageField(
  reported: ImageUsage | undefined,
  facts: ImageMetadata,
  { query, target }: ImageContext,
): Promise<ExtraFields> {
  if (reported) return { usage: await withInputDetails(reported, query) };
  const usage = await estimateImageUsage({ query, target: target(), facts, images: 1 });
  return { usage, [estimatedField]: "estimated" };
}

/** Every event must have these, and may say that nobody said. */
const unreportedOptions = {
  size: "auto",
  quality: "auto",
  background: "auto",
  output_format: "png",
} as const;

const toLedgerUsage = (usage: ImageUsage | undefined, images: number): Usage => ({
  ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  images,
});
