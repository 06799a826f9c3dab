/** Pictures as OpenAI speaks them: JSON generations, multipart or JSON edits, answers whole or as a stream. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { WireQuestion, WireReply } from "../adapter.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageReply,
  ImageResult,
  Rest,
  Target,
} from "../contract.ts";
import { bareBase64 } from "./bare-base64.ts";
import { type Part, writeForm } from "./multipart.ts";
import { readImageEvents } from "./openai-image-events.ts";
import { isUsage } from "./openai-image-usage.ts";
import type { Place } from "./place.ts";

export const openaiGenerations = (place: Place): WireQuestion<GenerationQuery, ImageReply> => ({
  toUpstream: (query, target) => ({
    ...at(place, target, "images/generations"),
    ...paid(query),
    body: JSON.stringify(fields(query, target)),
  }),
  fromUpstream: readImages,
});

export const openaiEdits = (place: Place): WireQuestion<EditQuery, ImageReply> => ({
  toUpstream: (query, target) => {
    const uploads = query.images.flatMap((source) => (source.kind === "file" ? [source.file] : []));
    if (uploads.length === 0) {
      return {
        ...at(place, target, "images/edits"),
        ...paid(query),
        body: JSON.stringify({ ...fields(query, target), ...references(query) }),
      };
    }
    // One file is `image`; several must be `image[]`, or OpenAI answers duplicate_parameter.
    const name = uploads.length === 1 ? "image" : "image[]";
    const mask = query.mask?.kind === "file" ? [query.mask.file] : [];
    const parts: Part[] = [
      ...textParts(fields(query, target)),
      ...uploads.map((file): Part => ({ name, file })),
      ...mask.map((file): Part => ({ name: "mask", file })),
      ...query.files.map((file): Part => ({ name: file.field, file })),
    ];
    const { contentType, body } = writeForm(parts);
    const { url, headers } = place(target, "images/edits");
    return { url, headers: { ...headers, "content-type": contentType }, ...paid(query), body };
  },
  fromUpstream: readImages,
});

const paid = ({ stream }: GenerationQuery) => ({ once: true, streams: stream });

const at = (place: Place, target: Target, path: "images/generations" | "images/edits") => {
  const { url, headers } = place(target, path);
  return { url, headers: { ...headers, "content-type": "application/json" } };
};

const fields = ({ rest, options, prompt, stream }: GenerationQuery, target: Target): Rest => ({
  ...rest,
  ...options,
  model: target.model,
  prompt,
  ...(stream && { stream: true }),
});

function references({ images, mask }: EditQuery): Rest {
  const toReference = (source: EditQuery["images"][number]): Rest => {
    if (source.kind === "url") return { image_url: source.url };
    if (source.kind === "file_id") return { file_id: source.id };
    throw new GatewayError("internal", "Files and references were mixed in one edit.");
  };
  return { images: images.map(toReference), ...(mask && { mask: toReference(mask) }) };
}

/** Everything in a form is text; what is not travels as JSON. */
function textParts(body: Rest): Part[] {
  return Object.entries(body).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (entry): Part => ({
        name,
        text: typeof entry === "object" ? JSON.stringify(entry) : String(entry),
      }),
    ),
  );
}

async function readImages(
  reply: WireReply,
  { model }: GenerationQuery,
  target: Target,
): Promise<ImageReply> {
  if (/^text\/event-stream\b/i.test(reply.headers.get("content-type") ?? "")) {
    return { kind: "stream", events: readImageEvents(reply.chunks(), { target, model }) };
  }
  return readWhole(await reply.json());
}

const factNames = ["size", "quality", "background", "output_format"] as const;

function readWhole(body: unknown): ImageReply {
  const { data, created, usage, ...others } = (body ?? {}) as Record<string, unknown>;
  if (!Array.isArray(data)) throw unusable("it has no list called `data`");
  const facts = Object.fromEntries(
    factNames.flatMap((name) => (typeof others[name] === "string" ? [[name, others[name]]] : [])),
  );
  const rest = Object.fromEntries(
    Object.entries(others).filter(([name]) => !(name in facts) && name !== "model"),
  );
  return {
    kind: "whole",
    results: data.map(readResult),
    ...(Number.isSafeInteger(created) && { created: created as number }),
    facts,
    ...(isUsage(usage) && { usage }),
    rest,
  };
}

function readResult(entry: unknown): ImageResult {
  const { b64_json, url, revised_prompt, ...rest } = (entry ?? {}) as Record<string, unknown>;
  const words = typeof revised_prompt === "string" && { revised_prompt };
  if (typeof b64_json === "string") {
    return { image: { kind: "base64", base64: bareBase64(b64_json) }, ...words, rest };
  }
  if (typeof url === "string") return { image: { kind: "url", url }, ...words, rest };
  throw unusable("an entry has neither `b64_json` nor `url`");
}

const unusable = (why: string): GatewayError =>
  new GatewayError("upstream_invalid", `The upstream's answer is not usable: ${why}.`);
