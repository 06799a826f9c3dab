/** Writes image responses: one JSON body, or server-sent events for partial images and the final image. */
import { toJsonBase64 } from "../images/image-head.ts";
import { estimateImageUsage, sumUsage } from "../images/image-usage.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { type StreamedString, stringifyStreamed, wrapJson } from "../lib/json-stream.ts";
import type { WriteContext, WrittenResponse } from "../pipeline/endpoint.ts";
import type { StreamEvent } from "../pipeline/stream-response.ts";
import { joinDeviations } from "../request/deviations.ts";
import type { RequestUsage } from "../request/http-types.ts";
import { estimatedField } from "../upstream/adapters/openai/images.ts";
import { isOfGptFamily } from "../upstream/catalog/images/gpt-image.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageMetadata,
  ImageResponse,
  ImageResult,
  ImageUsage,
  StreamedImage,
} from "../upstream/contract.ts";
import { countSources } from "../upstream/edit-sources.ts";
import { countTokens } from "../upstream/tokenizers.ts";

interface ImageContext extends WriteContext {
  /** The prefix of the event names. */
  readonly family: "image_generation" | "image_edit";
  readonly query: GenerationQuery | EditQuery;
}

export async function writeImages(
  response: ImageResponse,
  context: ImageContext,
): Promise<WrittenResponse> {
  return response.kind === "stream"
    ? writeStream(response, context)
    : writeBuffered(response, context);
}

async function writeBuffered(
  response: BufferedImageResponse,
  context: ImageContext,
): Promise<WrittenResponse> {
  const results: unknown[] = [];
  let { deviations } = response;
  const onDropped = (name: string): void => {
    deviations = { ...deviations, ...joinDeviations(deviations, { dropped: [name] }) };
  };
  // One at a time: each may be a large image.
  for (const result of response.results) {
    results.push({
      ...result.extraFields,
      ...(await deliverImage(result, context, onDropped)),
      ...(result.revised_prompt !== undefined && { revised_prompt: result.revised_prompt }),
    });
  }
  const { query, target } = context;
  const reported = response.usage && (await withInputDetails(response.usage, query));
  const estimated = !reported && isOfGptFamily(query.model, target());
  const work = {
    query,
    target: target(),
    metadata: response.metadata,
    images: response.results.length,
  };
  const usage = estimated ? await estimateImageUsage(work) : reported;
  return {
    kind: "buffered",
    ...(estimated && { estimated }),
    body: stringifyStreamed({
      created: toUnixSeconds(response.created) ?? context.now,
      ...response.metadata,
      ...withIdentifier(response.extraFields, query),
      data: results,
      ...(usage && { usage }),
    }),
    usage: toLedgerUsage(response.usage, response.generated ?? response.results.length),
    images: response.results.length,
    deviations,
  };
}

/**
 * Adds `safety_identifier`, if the upstream does not report it: as at OpenAI the one of the request, or else its `user`.
 * An empty one is left out.
 */
function withIdentifier(
  extraFields: ExtraFields | undefined,
  { options }: GenerationQuery | EditQuery,
): ExtraFields {
  const { safety_identifier: reported, ...others } = extraFields ?? {};
  const safety_identifier = reported || options.safety_identifier || options.user;
  return safety_identifier ? { safety_identifier, ...others } : others;
}

/** Adds `input_tokens_details`, which OpenAI's types require: input tokens that are not text are image tokens. */
async function withInputDetails(
  usage: ImageUsage,
  query: GenerationQuery | EditQuery,
): Promise<ImageUsage> {
  if (hasInputDetails(usage)) return usage;
  const { input_tokens: input, input_tokens_details: details } = usage;
  const text = countSources(query) > 0 ? Math.min(input, await countTokens([query.prompt])) : input;
  return {
    ...usage,
    input_tokens_details: { ...details, text_tokens: text, image_tokens: input - text },
  };
}

const hasInputDetails = ({ input_tokens_details: details }: ImageUsage): boolean =>
  Number.isSafeInteger(details?.text_tokens) && Number.isSafeInteger(details?.image_tokens);

/** Some upstreams send milliseconds. */
const toUnixSeconds = (created: number | undefined): number | undefined =>
  created !== undefined && created > 100_000_000_000 ? Math.floor(created / 1000) : created;

/**
 * Applies `response_format`. Without it, images are returned as the upstream sent them: base64 as base64, URLs as URLs.
 * A private URL becomes a link of the gateway, so that code that reads `url` works; the GPT image family has no URLs.
 */
async function deliverImage(
  { image, linked }: ImageResult,
  { query, target, links, publicUrl }: ImageContext,
  onDropped: (name: string) => void,
): Promise<{ url: string } | { b64_json: string | StreamedString }> {
  const { response_format: requestedFormat } = query.options;
  if (image.kind === "url") return { url: await links.toLastingLink(image.url, publicUrl()) };
  const asLink = requestedFormat === "url" || (linked && !isOfGptFamily(query.model, target()));
  if (!asLink) return { b64_json: toJsonBase64(image) };
  try {
    return { url: await links.store(image, publicUrl()) };
  } catch (error) {
    // The image is billed: base64 instead of a link is better than no image.
    if (!(error instanceof GatewayError) || error.kind !== "storage_unavailable") throw error;
    if (requestedFormat === "url") onDropped("response_format");
    return { b64_json: toJsonBase64(image) };
  }
}

function writeStream(
  { events, deviations = () => ({}) }: Extract<ImageResponse, { kind: "stream" }>,
  context: ImageContext,
): WrittenResponse {
  let images = 0;
  let totalUsage: ImageUsage | undefined;
  async function* chunks(): AsyncIterable<StreamEvent> {
    for await (const event of events) {
      if (event.type === "buffered")
        throw new GatewayError("internal", "A whole response was not converted to stream events.");
      if (event.type === "completed") {
        images++;
        totalUsage = sumUsage(totalUsage, event.usage);
      }
      yield { body: await writeEvent(event, context), mayBeLast: event.type === "completed" };
    }
  }
  return {
    kind: "stream",
    chunks: chunks(),
    usage: () => (images === 0 ? undefined : toLedgerUsage(totalUsage, images)),
    deviations,
  };
}

async function writeEvent(
  event: StreamedImage,
  context: ImageContext,
): Promise<StreamEvent["body"]> {
  const { family, now } = context;
  const { type, image, created, index, usage, extraFields, ...metadata } = event;
  const name = `${family}.${type === "partial" ? "partial_image" : "completed"}`;
  const payload = {
    ...(type === "completed" ? withIdentifier(extraFields, context.query) : extraFields),
    type: name,
    b64_json: toJsonBase64(image),
    created_at: toUnixSeconds(created) ?? now,
    ...unreportedOptions,
    ...metadata,
    ...(index !== undefined && { partial_image_index: index }),
    ...(type === "completed" && (await usageField(usage, metadata, context))),
  };
  return wrapJson(`event: ${name}\ndata: `, stringifyStreamed(payload), "\n\n");
}

/**
 * OpenAI's types require `usage` in every completed event. An estimate is marked in the event, since the headers are
 * sent.
 */
async function usageField(
  reported: ImageUsage | undefined,
  metadata: ImageMetadata,
  { query, target }: ImageContext,
): Promise<ExtraFields> {
  if (reported) return { usage: await withInputDetails(reported, query) };
  const usage = await estimateImageUsage({ query, target: target(), metadata, images: 1 });
  return { usage, [estimatedField]: "estimated" };
}

/** OpenAI's types require these members in every event; these are the values if the upstream reports none. */
const unreportedOptions = {
  size: "auto",
  quality: "auto",
  background: "auto",
  output_format: "png",
} as const;

const toLedgerUsage = (usage: ImageUsage | undefined, images: number): RequestUsage => ({
  ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  images,
});
