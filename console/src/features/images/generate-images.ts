/** Sends an image request and reports partial images while the upstream streams them. */
import { ApiError, callRaw } from "../../api/client.ts";
import { requestIdOf } from "../../api/request-cost.ts";
import { readEvents } from "../../lib/event-stream.ts";
import { bodyOf, formOf, type ImageRequest } from "./image-request.ts";

export interface GeneratedImages {
  readonly images: readonly Blob[];
  readonly durationMs: number;
  readonly requestId: string;
  /** Parameters that the gateway adapted or dropped for the model. */
  readonly adapted: string | null;
  readonly dropped: string | null;
}

interface ImageData {
  readonly b64_json?: string;
  readonly url?: string;
}

interface ImageResponse {
  readonly data: readonly ImageData[];
  readonly output_format?: string;
}

interface ImageEvent extends ImageData {
  readonly type: string;
  readonly output_format?: string;
  readonly error?: { readonly message: string };
}

export async function generateImages(
  request: ImageRequest,
  onPartial: (image: Blob) => void,
  signal: AbortSignal,
): Promise<GeneratedImages> {
  const startedAt = performance.now();
  const isEdit = request.references.length > 0;
  const response = await callRaw(`/playground/images/${isEdit ? "edits" : "generations"}`, {
    method: "POST",
    ...(isEdit ? { form: formOf(request) } : { body: bodyOf(request) }),
    signal,
  });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const requestId = requestIdOf(response);
  const images =
    isStream && response.body
      ? await readStream(response.body, onPartial, requestId)
      : await readImages((await response.json()) as ImageResponse);
  const durationMs = performance.now() - startedAt;
  return {
    images,
    durationMs,
    requestId,
    adapted: response.headers.get("vexel-adapted"),
    dropped: response.headers.get("vexel-dropped"),
  };
}

async function readStream(
  body: ReadableStream<Uint8Array>,
  onPartial: (image: Blob) => void,
  requestId: string,
): Promise<Blob[]> {
  const images: Blob[] = [];
  for await (const text of readEvents(body)) {
    if (text === "[DONE]") break;
    const event = JSON.parse(text) as ImageEvent;
    if (event.error) {
      const { message } = event.error;
      throw new ApiError(200, { message, type: "", param: null, code: null }, requestId);
    }
    const image = await readImage(event, event.output_format);
    if (!image) continue;
    if (event.type.endsWith("partial_image")) onPartial(image);
    else images.push(image);
  }
  return images;
}

async function readImages({ data, output_format }: ImageResponse): Promise<Blob[]> {
  const images = await Promise.all(data.map((image) => readImage(image, output_format)));
  return images.filter((image) => image !== undefined);
}

async function readImage({ b64_json, url }: ImageData, format = "png"): Promise<Blob | undefined> {
  if (b64_json !== undefined) {
    const bytes = Uint8Array.from(atob(b64_json), (character) => character.charCodeAt(0));
    return new Blob([bytes], { type: `image/${format}` });
  }
  return url === undefined ? undefined : (await fetch(url)).blob();
}
