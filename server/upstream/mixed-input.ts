/**
 * Embeddings input with images. Texts and images of one request go to an upstream in separate requests: many vendors
 * take one or the other, and a text has the same vector whatever stands beside it. So an entry of texts only is never
 * part of a mixed input that reaches an adapter.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { EmbeddingInput, InputEntry, InputImage, InputPart, MixedInput } from "./contract.ts";

/** The pixels of an image that is not downloaded yet: 1024x1024. */
const unknownPixels = 1024 * 1024;

/** docs.voyageai.com/docs/multimodal-embeddings: "every 560 pixels is a token". Most vendors scale images down first. */
const pixelsPerToken = 560;
/** The most tokens of an image in an estimate. Vendors that document a maximum are below. */
const maxEstimatedTokens = 16_384;

export const isImagePart = (part: InputPart): part is Exclude<InputPart, { kind: "text" }> =>
  part.kind !== "text";

export const hasImage = ({ parts }: InputEntry): boolean => parts.some(isImagePart);

export const imageCount = ({ parts }: InputEntry): number => parts.filter(isImagePart).length;

export const textsOfEntry = ({ parts }: InputEntry): string[] =>
  parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));

export function pixelsOf(part: InputPart): number {
  if (part.kind === "text") return 0;
  if (part.kind === "link") return part.pixels ?? unknownPixels;
  return part.image.width * part.image.height;
}

/** An estimate: vendors count the tokens of an image in their own ways. */
export const estimatedImageTokens = (part: InputPart): number =>
  Math.min(maxEstimatedTokens, Math.ceil(pixelsOf(part) / pixelsPerToken));

/**
 * Whether no image is in a file. The files of a request are closed when it ends, which may be before the end of a batch
 * that it is part of.
 */
export const isInMemory = ({ entries }: MixedInput): boolean =>
  entries.every(({ parts }) =>
    parts.every(
      (part) => part.kind === "text" || (part.kind === "image" && !part.image.file.keepOpen),
    ),
  );

/** The bytes of an image that is loaded. */
export const imageBytes = (part: InputPart): number =>
  part.kind === "image" ? part.image.file.size : 0;

/** The input of these entries: texts, if each of them is one text. */
export function withEntries(entries: readonly InputEntry[]): EmbeddingInput {
  const texts: string[] = [];
  for (const { parts } of entries) {
    const [first, ...others] = parts;
    if (first?.kind !== "text" || others.length > 0) return { kind: "mixed", entries };
    texts.push(first.text);
  }
  return { kind: "text", texts };
}

/** A part as adapters send it: a text, or an image whose bytes the gateway has. */
export type LoadedPart = Exclude<InputPart, { kind: "link" }>;

/** For adapters: the parts of each entry. Only for targets whose capabilities include images. */
export const loadedEntries = ({ entries }: MixedInput): readonly (readonly LoadedPart[])[] =>
  entries.map(({ parts }) =>
    parts.map((part) => {
      if (part.kind !== "link") return part;
      throw new GatewayError("internal", "An image was not loaded before it was sent.");
    }),
  );

/** For adapters of targets that fuse pairs: the image of each entry, and its text if it has one. */
export const imagesWithText = (
  input: MixedInput,
): readonly { readonly image: InputImage; readonly text?: string }[] =>
  loadedEntries(input).map((parts) => {
    const texts = parts.filter((part) => part.kind === "text");
    const [image, ...others] = parts.filter((part) => part.kind === "image");
    if (!image || others.length > 0 || texts.length > 1)
      throw new GatewayError(
        "internal",
        "An entry with several parts was sent to a target that fuses one text and one image.",
      );
    return { image: image.image, ...(texts[0] && { text: texts[0].text }) };
  });

/** For adapters of targets without fusion: the only part of each entry, an image. */
export const onlyImages = (input: MixedInput): readonly InputImage[] =>
  loadedEntries(input).map(([part, ...others]) => {
    if (part?.kind === "image" && others.length === 0) return part.image;
    throw new GatewayError(
      "internal",
      "An entry with several parts was sent to a target that fuses none.",
    );
  });
