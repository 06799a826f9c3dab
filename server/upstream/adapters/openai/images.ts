/** OpenAI's Images API: JSON generations, multipart or JSON edits, buffered or streamed responses. */
import type { RequestTemp } from "../../../temp-storage/request-temp.ts";
import type { ErrorContext, ImageAdapter, ReadImages, UpstreamResponse } from "../../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageEvent,
  ImageMetadata,
  ImageOptions,
  ImageResponse,
  ImageResult,
  ImageSource,
  ImageUsage,
  Target,
} from "../../contract.ts";
import { editSources } from "../../edit-sources.ts";
import { invalidResponse } from "../../invalid-response.ts";
import {
  asDataUrl,
  type EndpointResolver,
  fieldParts,
  filesOf,
  imageFormRequest,
  imageJsonRequest,
  type Part,
} from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { createdIn, imageIn, isEventStream, loadedImageIn } from "../wire/image-list.ts";
import { readImageStream } from "../wire/image-stream.ts";
import { isCount, listIn, memberOf, objectOf } from "../wire/members.ts";
import { readStreamError } from "../wire/openai-errors.ts";

export const openaiGenerations = (resolveEndpoint: EndpointResolver): ImageAdapter => ({
  toUpstream: (query, target) => {
    const { url, headers } = resolveEndpoint(target, "images/generations");
    return imageJsonRequest(url, headers, fields(query, target));
  },
  fromUpstream: readImages,
});

/** An input image of an edit in a JSON body: a file as a data: URL, a reference unchanged. */
export const referenceTo = (source: ImageSource): ExtraFields =>
  source.kind === "file_id" ? { file_id: source.id } : { image_url: asDataUrl(source) };

/** `inJsonOnly`: options that a form has no field for. */
export const openaiEdits = (
  resolveEndpoint: EndpointResolver,
  inJsonOnly: readonly (keyof ImageOptions)[] = [],
): ImageAdapter<EditQuery> => ({
  toUpstream: (query, target) => {
    const { url, headers } = resolveEndpoint(target, "images/edits");
    const { images, mask, markup } = query;
    // A form can contain only files; JSON can contain references, and files as data: URLs.
    const needsJson = inJsonOnly.some((name) => query.options[name] !== undefined);
    if (needsJson || editSources(query).some(({ kind }) => kind !== "file")) {
      return imageJsonRequest(url, headers, {
        ...fields(query, target),
        images: images.map(referenceTo),
        ...(mask && { mask: referenceTo(mask) }),
        // Unproven: OpenAI's SDKs have `markup` in forms only. A reference, as that of the mask.
        ...(markup && { markup: referenceTo(markup) }),
      });
    }
    const uploads = filesOf(images);
    // One file is `image`; several must be `image[]`, or OpenAI returns duplicate_parameter.
    const name = uploads.length === 1 ? "image" : "image[]";
    return imageFormRequest(url, headers, [
      ...fieldParts(withSvgFields(fields(query, target))),
      ...uploads.map((file): Part => ({ name, file })),
      ...filesOf(mask ? [mask] : []).map((file): Part => ({ name: "mask", file })),
      ...filesOf(markup ? [markup] : []).map((file): Part => ({ name: "markup", file })),
      ...query.files.map((file): Part => ({ name: file.field, file })),
    ]);
  },
  fromUpstream: readImages,
});

/** openai-python 3.51.0: "Use multipart fields such as `svg[model]`". */
function withSvgFields({ svg, ...others }: ExtraFields): ExtraFields {
  return svg === undefined ? others : { ...others, ...bracketed("svg", svg) };
}

const bracketed = (name: string, value: unknown): ExtraFields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.assign(
        {},
        ...Object.entries(value).map(([key, member]) => bracketed(`${name}[${key}]`, member)),
      )
    : { [name]: value };

/** The adapter for a server that does not support `stream`, or streams in another format. */
export const unstreamed = <Q extends GenerationQuery>(
  adapter: ImageAdapter<Q>,
): ImageAdapter<Q> => ({
  ...adapter,
  toUpstream: (query, target) => adapter.toUpstream({ ...query, stream: false }, target),
});

/** For a server whose other members say nothing: token counts that are always 0, an index, or a path on its disk. */
export const imagesAlone =
  (read: ReadImages): ReadImages =>
  async (response, context) => {
    const all = await read(response, context);
    if (all.kind !== "buffered") return all;
    const { usage: _, extraFields: __, ...others } = all;
    return { ...others, results: others.results.map(({ image }) => ({ image })) };
  };

const fields = (
  { extraFields, options, prompt, stream }: GenerationQuery,
  target: Target,
): ExtraFields => ({
  ...extraFields,
  ...options,
  model: target.model,
  prompt,
  ...(stream && { stream: true }),
});

const readImages: ReadImages = async (response, { query: { model }, target, temp }) => {
  return isEventStream(response)
    ? { kind: "stream", events: readImageEvents(response.chunks(), temp, { target, model }) }
    : readBuffered(await readDocument(response, temp), isEstimated(response));
};

function readBuffered(response: unknown, estimated: boolean): ImageResponse {
  const data = listIn(response, "data");
  const metadata = metadataIn(response);
  // The upstream's model name is not the client's.
  const { data: _, created: __, usage, model: ___, ...others } = objectOf(response);
  return {
    kind: "buffered",
    results: data.map(readResult),
    ...createdIn(response),
    metadata,
    ...(isUsage(usage) && !estimated && { usage }),
    extraFields: Object.fromEntries(Object.entries(others).filter(([name]) => !(name in metadata))),
  };
}

function readResult(entry: unknown): ImageResult {
  const { b64_json: _, url: __, revised_prompt, ...extraFields } = objectOf(entry);
  const revised = typeof revised_prompt === "string" && { revised_prompt };
  const image = imageIn(entry);
  if (image) return { image, ...revised, extraFields };
  throw invalidResponse("an entry has neither `b64_json` nor `url`");
}

/** Reads OpenAI's image stream, event by event. */
async function* readImageEvents(
  chunks: AsyncIterable<Uint8Array>,
  temp: RequestTemp,
  context: ErrorContext,
): AsyncGenerator<ImageEvent> {
  for await (const { name, payload } of readImageStream(chunks, temp)) {
    if (payload.error || name === "error" || payload.type === "error") {
      throw readStreamError(payload, context);
    }
    const event = toEvent(payload);
    if (event) yield event;
  }
}

/** Undefined for unknown event types, which have no image. */
function toEvent(payload: ExtraFields): ImageEvent | undefined {
  // The upstream's model name is not the client's.
  const { type, b64_json, created_at, partial_image_index, usage, model: _, ...others } = payload;
  const partial = typeof type === "string" && type.endsWith(".partial_image");
  const completed = typeof type === "string" && type.endsWith(".completed");
  const image = partial || completed ? loadedImageIn(b64_json) : undefined;
  if (!image) return undefined;
  const {
    size,
    quality,
    background,
    output_format,
    [estimatedField]: estimated,
    ...extraFields
  } = others;
  return {
    type: partial ? "partial" : "completed",
    image,
    ...metadataIn(others),
    ...createdIn(payload, "created_at"),
    ...(Number.isSafeInteger(partial_image_index) && { index: partial_image_index as number }),
    ...(isUsage(usage) && estimated === undefined && { usage }),
    extraFields,
  };
}

/** The fields of OpenAI's image responses that describe the images. */
const metadataNames = ["size", "quality", "background", "output_format"] as const;

export const metadataIn = (value: unknown): ImageMetadata =>
  Object.fromEntries(
    metadataNames.flatMap((name) => {
      const text = memberOf(value, name);
      return typeof text === "string" ? [[name, text]] : [];
    }),
  );

/** Usage is valid only if all its totals are present and are counts: a partial or negative count is unknown. */
export const isUsage = (usage: unknown): usage is ImageUsage =>
  ["total_tokens", "input_tokens", "output_tokens"].every((name) => isCount(memberOf(usage, name)));

/**
 * The response header that marks `usage` as estimated. An upstream that is itself a Vexel gateway sends it, and its
 * estimate is not recorded as reported usage.
 */
export const usageHeader = "vexel-usage";
/** The same in a stream event, since the headers are sent before the usage is known. */
export const estimatedField = "vexel_usage";

export const isEstimated = ({ headers }: Pick<UpstreamResponse, "headers">): boolean =>
  headers.get(usageHeader) === "estimated";
