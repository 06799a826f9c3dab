/**
 * Images through OpenAI's Responses API: a language model rewrites the prompt and calls the image tool. Slower and more
 * expensive than the Images API, but a second path to the same models, and it reports the rewritten prompt.
 */
import type {
  ImageAdapter,
  ImageRequestContext,
  UpstreamRequest,
  UpstreamResponse,
} from "../../adapter.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageEvent,
  ImageMetadata,
  Target,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { type EndpointResolver, imageJsonRequest } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { createdIn, imageContentIn, isEventStream, loadedImageIn } from "../wire/image-list.ts";
import { readImageStream } from "../wire/image-stream.ts";
import { listOf, memberOf, textIn } from "../wire/members.ts";
import { toMappedError } from "../wire/native-errors.ts";
import { readStreamError } from "../wire/openai-errors.ts";
import { isUsage, metadataIn, referenceTo } from "./images.ts";

/**
 * The language model that calls the image tool, if the configuration has none. Of the models in openai-python 3.49.0
 * without an announced shutdown, the least expensive of full size.
 */
const defaultLanguageModel = "gpt-5.4";

export const responsesRequest = <Q extends GenerationQuery>(
  resolveEndpoint: EndpointResolver,
): ImageAdapter<Q> => ({
  toUpstream: (query, target) => toUpstream(query, target, resolveEndpoint),
  fromUpstream: async (response, imageRequest) =>
    isEventStream(response)
      ? { kind: "stream", events: readStream(response, imageRequest) }
      : readBuffered(await readDocument(response, imageRequest.temp), imageRequest),
});

/** The model's capabilities through the image tool: one image at a time, and neither markup nor other files. */
export function throughResponses(capabilities: ImageCapabilities): ImageCapabilities {
  const { response_format: _, style: __, ...takes } = capabilities.takes;
  const { edits } = capabilities;
  return {
    ...capabilities,
    maxImages: 1,
    takes,
    ...(edits && { edits: { ...edits, markup: false, files: false } }),
  };
}

const toolOptions = [
  "size",
  "quality",
  "background",
  "moderation",
  "output_format",
  "output_compression",
  "input_fidelity",
  "partial_images",
  "complexity",
  "frame_count",
  "frame_duration_ms",
  "svg",
] as const;

function toUpstream(
  query: GenerationQuery | EditQuery,
  target: Target,
  resolveEndpoint: EndpointResolver,
): UpstreamRequest {
  const { options, prompt, extraFields, stream } = query;
  const given = options as ExtraFields;
  const isEdit = "images" in query;
  const { user, safety_identifier } = options;
  const { url, headers } = resolveEndpoint(target, "responses");
  const tool = {
    type: "image_generation",
    model: target.model,
    action: isEdit ? "edit" : "generate",
    ...Object.fromEntries(
      toolOptions.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
    ),
    ...(isEdit && query.mask && { input_image_mask: referenceTo(query.mask) }),
  };
  return imageJsonRequest(url, headers, {
    ...extraFields,
    model: target.via ?? defaultLanguageModel,
    input: isEdit ? [{ role: "user", content: contentOf(query) }] : prompt,
    tools: [tool],
    // Without it, the model might respond with text.
    tool_choice: { type: "image_generation" },
    // The upstream stores no client data.
    store: false,
    user,
    safety_identifier,
    ...(stream && { stream: true }),
  });
}

const contentOf = ({ prompt, images }: EditQuery) => [
  { type: "input_text", text: prompt },
  ...images.map((image) => ({ type: "input_image", ...referenceTo(image) })),
];

function readBuffered(body: unknown, imageRequest: ImageRequestContext): BufferedImageResponse {
  const context = { target: imageRequest.target, model: imageRequest.query.model };
  const error = memberOf(body, "error");
  if (error) throw readStreamError({ error }, context);
  const items = listOf(memberOf(body, "output"));
  const call = items.find((item) => memberOf(item, "type") === "image_generation_call");
  const failure = memberOf(call, "error");
  if (failure) {
    const type = "image_generation_user_error";
    throw readStreamError({ error: { type, ...failure } }, context);
  }
  const image = imageContentIn(memberOf(call, "result"));
  if (!image) {
    const message = refusalIn(items);
    throw message
      ? toMappedError("moderated", message, imageRequest)
      : invalidResponse("it has no image");
  }
  const revisedPrompt = memberOf(call, "revised_prompt");
  return {
    kind: "buffered",
    results: [
      { image, ...(typeof revisedPrompt === "string" && { revised_prompt: revisedPrompt }) },
    ],
    ...createdIn(body, "created_at"),
    metadata: knownMetadata(call),
    ...usageIn(body),
  };
}

/** The language model may refuse by itself, with a text. */
function refusalIn(items: readonly unknown[]): string | undefined {
  const contents = items.flatMap((item) => memberOf(item, "content") ?? []);
  return contents.map((part) => textIn(part, "refusal")).find((message) => message !== undefined);
}

/** Usage of the image, if it is reported separately; otherwise of the whole response. */
function usageIn(body: unknown): Pick<BufferedImageResponse, "usage"> {
  const imageUsage = memberOf(memberOf(body, "tool_usage"), "image_gen");
  const usage = isUsage(imageUsage) ? imageUsage : memberOf(body, "usage");
  return isUsage(usage) ? { usage } : {};
}

/** `auto` repeats the request and is not a result. */
const knownMetadata = (call: unknown): ImageMetadata =>
  Object.fromEntries(Object.entries(metadataIn(call)).filter(([, value]) => value !== "auto"));

async function* readStream(
  response: UpstreamResponse,
  imageRequest: ImageRequestContext,
): AsyncGenerator<ImageEvent> {
  const context = { target: imageRequest.target, model: imageRequest.query.model };
  for await (const { payload: event } of readImageStream(response.chunks(), imageRequest.temp)) {
    const { type, partial_image_index: index } = event;
    if (type === "error") {
      throw readStreamError(event.error ? event : { error: event }, context);
    }
    const image = loadedImageIn(event.partial_image_b64);
    if (image) {
      yield {
        type: "partial",
        image,
        ...(Number.isSafeInteger(index) && { index: index as number }),
        ...knownMetadata(event),
      };
    }
    if (
      type === "response.completed" ||
      type === "response.failed" ||
      type === "response.incomplete"
    ) {
      yield { type: "buffered", response: readBuffered(event.response, imageRequest) };
      return;
    }
  }
}
