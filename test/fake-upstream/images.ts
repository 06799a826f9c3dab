/** POST /v1/images/generations and /v1/images/edits, and the files that `url` answers point to. */

import { type Answer, json } from "./answer.ts";
import { readForm, readReferences } from "./edit-images.ts";
import { type ImageQuery, readImageQuery } from "./image-query.ts";
import type { Mischief } from "./mischief.ts";
import { fakePicture } from "./pictures.ts";
import { notJson } from "./refusal.ts";
import type { RecordedRequest } from "./request.ts";
import { fakeTokens } from "./vectors.ts";

/** Bounded: the fake forgets the oldest pictures it promised a URL for. */
const mostFiles = 100;

export interface ImageDesk {
  generations(request: RecordedRequest, mischief?: Mischief): Answer;
  edits(request: RecordedRequest, mischief?: Mischief): Answer;
  file(name: string): Answer | undefined;
}

const bodyOf = (request: RecordedRequest): Record<string, unknown> => {
  const body = request.json;
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw notJson();
  return body as Record<string, unknown>;
};

const outputTokens: Record<string, number> = { low: 272, medium: 1056, high: 4160 };

function usageOf(query: ImageQuery, pictures: number, inputImages: number) {
  const text = fakeTokens(query.prompt);
  const image = inputImages * 194;
  const out = pictures * (outputTokens[query.quality] ?? 6240);
  return {
    total_tokens: text + image + out,
    input_tokens: text + image,
    output_tokens: out,
    input_tokens_details: { text_tokens: text, image_tokens: image },
  };
}

const lookOf = (query: ImageQuery) => ({
  size: `${query.width}x${query.height}`,
  quality: query.quality,
  background: query.transparent ? "transparent" : "opaque",
  output_format: query.format,
});

function picturesOf(query: ImageQuery, how: Mischief["images"], stage?: string): Uint8Array[] {
  const counts = {
    missing: query.n - 1,
    extra: query.n + 1,
    none: 0,
    garbage: query.n,
    empty: query.n,
  };
  const count = how ? counts[how] : query.n;
  return Array.from({ length: count }, (_, i) => {
    if (how === "garbage") return Buffer.from("this is not a picture, whatever its name says");
    if (how === "empty") return new Uint8Array();
    return fakePicture(query.prompt, i, query, stage);
  });
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const frame = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

function streamed(
  query: ImageQuery,
  kind: string,
  inputImages: number,
  mischief: Mischief,
): Answer {
  const created_at = Math.floor(Date.now() / 1000);
  const look = { created_at, ...lookOf(query) };
  const usage = mischief.usage === "absent" ? {} : { usage: usageOf(query, 1, inputImages) };
  const stages = Array.from({ length: query.partials }, (_, p) =>
    picturesOf(query, mischief.images, `partial ${p}`),
  );
  const identifier = query.safetyIdentifier && { safety_identifier: query.safetyIdentifier };
  const frames = picturesOf(query, mischief.images).flatMap((picture, i) => [
    ...stages.map((pictures, p) =>
      frame(`${kind}.partial_image`, {
        b64_json: base64(pictures[i]!),
        ...look,
        partial_image_index: p,
      }),
    ),
    frame(`${kind}.completed`, { b64_json: base64(picture), ...look, ...usage, ...identifier }),
  ]);
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    body: frames,
  };
}

export function imageDesk(origin: () => string): ImageDesk {
  const files = new Map<string, Answer>();

  function keep(picture: Uint8Array): string {
    const name = `${crypto.randomUUID()}.png`;
    if (files.size >= mostFiles) files.delete(files.keys().next().value!);
    files.set(name, { status: 200, headers: { "content-type": "image/png" }, body: picture });
    return `${origin()}/files/${name}`;
  }

  function answer(
    query: ImageQuery,
    kind: string,
    inputImages: number,
    mischief: Mischief,
  ): Answer {
    if (query.stream && mischief.stream !== "json")
      return streamed(query, kind, inputImages, mischief);
    const pictures = picturesOf(query, mischief.images);
    const created = Math.floor(Date.now() / 1000);
    const { family } = query.model;
    if (family !== "gpt")
      return json({
        created,
        data: pictures.map((picture) => ({
          ...(family === "dall-e-3" && { revised_prompt: `Revised: ${query.prompt}` }),
          ...(query.asUrl ? { url: keep(picture) } : { b64_json: base64(picture) }),
        })),
      });
    const usage = usageOf(query, pictures.length, inputImages);
    return json({
      created,
      ...lookOf(query),
      data: pictures.map((picture) => ({ b64_json: base64(picture) })),
      ...(query.safetyIdentifier && { safety_identifier: query.safetyIdentifier }),
      ...(mischief.usage !== "absent" && {
        usage: {
          ...usage,
          output_tokens_details: { text_tokens: 0, image_tokens: usage.output_tokens },
        },
      }),
    });
  }

  return {
    generations: (request, mischief = {}) =>
      answer(readImageQuery(bodyOf(request), "generations"), "image_generation", 0, mischief),
    edits: (request, mischief = {}) => {
      const { images, fields } = request.form
        ? readForm(request.form)
        : readReferences(bodyOf(request));
      const operation = request.form ? "edits" : "json-edits";
      return answer(readImageQuery(fields, operation), "image_edit", images, mischief);
    },
    file: (name) => files.get(name),
  };
}
