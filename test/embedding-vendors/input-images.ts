/** Images of embeddings requests, and the bytes of requests that hold them, for the vendor tests. */
import { createHash } from "node:crypto";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type {
  EmbeddingInput,
  ImagePart,
  InputImage,
  InputPart,
} from "../../server/upstream/contract.ts";
import { withEntries } from "../../server/upstream/mixed-input.ts";
import { readAll } from "../chunks.ts";
import { fileOf } from "../laws/adapter-cases.ts";

export const inputImage = (bytes: Uint8Array, type = "image/png"): InputImage => ({
  file: fileOf("image", "image", type, bytes),
  width: 1,
  height: 1,
  hash: createHash("sha256").update(bytes).digest("base64"),
});

export const imagePart = (bytes: Uint8Array, type?: string): ImagePart => ({
  kind: "image",
  image: inputImage(bytes, type),
  member: ".image",
});

/** The same request with its body as text, one character for each byte. */
export async function withTextBody(request: UpstreamRequest): Promise<UpstreamRequest> {
  const { body } = request;
  if (body === undefined || typeof body === "string") return request;
  const bytes = await readAll(body.open());
  if (bytes.length !== body.length) throw new Error("the body has another length than announced");
  return { ...request, body: bytes.toString("latin1") };
}

/** A part of a request as the vendor reads it: a text, or a `data:` URL of an image. */
export function partIn(text: unknown, url: unknown): InputPart {
  if (typeof text === "string") return { kind: "text", text };
  const [, type, base64] = /^data:(image\/\w+);base64,(.+)$/.exec(String(url)) ?? [];
  if (base64 === undefined) throw new Error("a part is neither a text nor a data URL");
  return imagePart(Buffer.from(base64, "base64"), type);
}

/** The entries of a request, as lists of parts. */
export function entriesIn(entries: readonly (readonly InputPart[])[]): EmbeddingInput {
  if (entries.some((parts) => parts.length === 0)) throw new Error("an entry is empty");
  return withEntries(entries.map((parts) => ({ parts })));
}

/** Texts and hashes of images, in order: entries with equal parts have the same. */
export const contentOf = (input: EmbeddingInput): readonly (readonly string[])[] => {
  if (input.kind === "tokens") throw new Error("the input has tokens");
  if (input.kind === "text") return input.texts.map((text) => [text]);
  return input.entries.map(({ parts }) =>
    parts.map((part) => (part.kind === "image" ? part.image.hash : partText(part))),
  );
};

function partText(part: InputPart): string {
  if (part.kind === "text") return part.text;
  throw new Error("an image is not loaded");
}
