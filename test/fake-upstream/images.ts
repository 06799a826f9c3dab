/** POST /v1/images/generations and /v1/images/edits, and the files that `url` responses point to. */

import { readForm, readReferences } from "./edit-images.ts";
import { fakeImage } from "./fake-image.ts";
import { type FakeResponse, json } from "./fake-response.ts";
import { type ImageQuery, readImageQuery } from "./image-query.ts";
import type { InjectedFault } from "./injected-fault.ts";
import { notJson } from "./refusal.ts";
import type { RecordedRequest } from "./request.ts";
import { fakeTokens } from "./vectors.ts";

/** Bounded: the fake upstream deletes the oldest images that have a URL. */
const mostFiles = 100;

export interface ImageRoutes {
  generations(request: RecordedRequest, fault?: InjectedFault): FakeResponse;
  edits(request: RecordedRequest, fault?: InjectedFault): FakeResponse;
  file(name: string): FakeResponse | undefined;
}

const bodyOf = (request: RecordedRequest): Record<string, unknown> => {
  const body = request.json;
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw notJson();
  return body as Record<string, unknown>;
};

const outputTokens: Record<string, number> = { low: 272, medium: 1056, high: 4160 };

function usageOf(query: ImageQuery, images: number, inputImages: number) {
  const text = fakeTokens(query.prompt);
  const image = inputImages * 194;
  const out = images * (outputTokens[query.quality] ?? 6240);
  return {
    total_tokens: text + image + out,
    input_tokens: text + image,
    output_tokens: out,
    input_tokens_details: { text_tokens: text, image_tokens: image },
  };
}

const attributesOf = (query: ImageQuery) => ({
  size: `${query.width}x${query.height}`,
  quality: query.quality,
  background: query.transparent ? "transparent" : "opaque",
  output_format: query.format,
});

function imagesOf(query: ImageQuery, how: InjectedFault["images"], stage?: string): Uint8Array[] {
  const counts = {
    missing: query.n - 1,
    extra: query.n + 1,
    none: 0,
    garbage: query.n,
    empty: query.n,
  };
  const count = how ? counts[how] : query.n;
  return Array.from({ length: count }, (_, i) => {
    if (how === "garbage") return Buffer.from("this is not an image, whatever its name says");
    if (how === "empty") return new Uint8Array();
    return fakeImage(query.prompt, i, query, stage);
  });
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const frame = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

function streamed(
  query: ImageQuery,
  kind: string,
  inputImages: number,
  fault: InjectedFault,
): FakeResponse {
  const created_at = Math.floor(Date.now() / 1000);
  const attributes = { created_at, ...attributesOf(query) };
  const usage = fault.usage === "absent" ? {} : { usage: usageOf(query, 1, inputImages) };
  const stages = Array.from({ length: query.partials }, (_, p) =>
    imagesOf(query, fault.images, `partial ${p}`),
  );
  const identifier = query.safetyIdentifier && { safety_identifier: query.safetyIdentifier };
  const frames = imagesOf(query, fault.images).flatMap((image, i) => [
    ...stages.map((images, p) =>
      frame(`${kind}.partial_image`, {
        b64_json: base64(images[i]!),
        ...attributes,
        partial_image_index: p,
      }),
    ),
    frame(`${kind}.completed`, { b64_json: base64(image), ...attributes, ...usage, ...identifier }),
  ]);
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    body: frames,
  };
}

export function imageRoutes(origin: () => string): ImageRoutes {
  const files = new Map<string, FakeResponse>();

  function storeFile(image: Uint8Array): string {
    const name = `${crypto.randomUUID()}.png`;
    if (files.size >= mostFiles) files.delete(files.keys().next().value!);
    files.set(name, { status: 200, headers: { "content-type": "image/png" }, body: image });
    return `${origin()}/files/${name}`;
  }

  function respond(
    query: ImageQuery,
    kind: string,
    inputImages: number,
    fault: InjectedFault,
  ): FakeResponse {
    if (query.stream && fault.stream !== "json") return streamed(query, kind, inputImages, fault);
    const images = imagesOf(query, fault.images);
    const created = Math.floor(Date.now() / 1000);
    const { family } = query.model;
    if (family !== "gpt")
      return json({
        created,
        data: images.map((image) => ({
          ...(family === "dall-e-3" && { revised_prompt: `Revised: ${query.prompt}` }),
          ...(query.asUrl ? { url: storeFile(image) } : { b64_json: base64(image) }),
        })),
      });
    const usage = usageOf(query, images.length, inputImages);
    return json({
      created,
      ...attributesOf(query),
      data: images.map((image) => ({ b64_json: base64(image) })),
      ...(query.safetyIdentifier && { safety_identifier: query.safetyIdentifier }),
      ...(fault.usage !== "absent" && {
        usage: {
          ...usage,
          output_tokens_details: { text_tokens: 0, image_tokens: usage.output_tokens },
        },
      }),
    });
  }

  return {
    generations: (request, fault = {}) =>
      respond(readImageQuery(bodyOf(request), "generations"), "image_generation", 0, fault),
    edits: (request, fault = {}) => {
      const { images, fields } = request.form
        ? readForm(request.form)
        : readReferences(bodyOf(request));
      const operation = request.form ? "edits" : "json-edits";
      return respond(readImageQuery(fields, operation), "image_edit", images, fault);
    },
    file: (name) => files.get(name),
  };
}
