/**
 * Embeddings input of several kinds. Texts, token arrays and images of one request go to an upstream in separate
 * requests: many vendors take one or the other, and a text has the same vector whatever stands beside it. So every
 * entry of a mixed input that reaches an adapter has an image.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type {
  EmbeddingInput,
  ImagePart,
  InputEntry,
  InputImage,
  InputPart,
  LinkedImage,
  MixedInput,
} from "./contract.ts";

/** The pixels of an image that is not downloaded yet: 1024x1024. */
const unknownPixels = 1024 * 1024;

/** docs.voyageai.com/docs/multimodal-embeddings: "every 560 pixels is a token". Most vendors scale images down first. */
const pixelsPerToken = 560;
/** The most tokens of an image in an estimate. Vendors that document a maximum are below. */
const maxEstimatedTokens = 16_384;

export const isImagePart = (part: InputPart): part is LinkedImage | ImagePart =>
  part.kind === "link" || part.kind === "image";

export const hasImage = ({ parts }: InputEntry): boolean => parts.some(isImagePart);

export const hasTokens = (input: EmbeddingInput): boolean =>
  input.kind === "mixed"
    ? input.entries.some(({ parts: [first] }) => first?.kind === "tokens")
    : input.kind === "tokens";

export const imageCount = ({ parts }: InputEntry): number => parts.filter(isImagePart).length;

/** The kind of upstream request that an entry is part of. */
export function kindOfEntry(entry: InputEntry): "text" | "tokens" | "image" {
  if (hasImage(entry)) return "image";
  return entry.parts[0]?.kind === "tokens" ? "tokens" : "text";
}

export const textsOfEntry = ({ parts }: InputEntry): string[] =>
  parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));

export function pixelsOf(part: InputPart): number {
  if (!isImagePart(part)) return 0;
  if (part.kind === "link") return part.pixels ?? unknownPixels;
  return part.image.width * part.image.height;
}

/** An estimate: vendors count the tokens of an image in their own ways. 0 for other parts. */
export const estimatedImageTokens = (part: InputPart): number =>
  Math.min(maxEstimatedTokens, Math.ceil(pixelsOf(part) / pixelsPerToken));

/**
 * Whether no image is in a file. The files of a request are closed when it ends, which may be before the end of a batch
 * that it is part of.
 */
export const isInMemory = ({ entries }: MixedInput): boolean =>
  entries.every(({ parts }) =>
    parts.every(
      (part) => !isImagePart(part) || (part.kind === "image" && !part.image.file.keepOpen),
    ),
  );

/** The bytes of an image that is loaded. */
export const imageBytes = (part: InputPart): number =>
  part.kind === "image" ? part.image.file.size : 0;

/** The input of these entries: texts or token arrays, if all of them are. */
export function withEntries(entries: readonly InputEntry[]): EmbeddingInput {
  const texts: string[] = [];
  const tokens: (readonly number[])[] = [];
  for (const { parts } of entries) {
    const [first, ...others] = parts;
    if (others.length > 0) break;
    if (first?.kind === "text") texts.push(first.text);
    if (first?.kind === "tokens") tokens.push(first.tokens);
  }
  if (texts.length === entries.length) return { kind: "text", texts };
  return tokens.length === entries.length ? { kind: "tokens", tokens } : { kind: "mixed", entries };
}

/** A part as adapters send it: a text, or an image whose bytes the gateway has. */
export type LoadedPart = Extract<InputPart, { kind: "text" | "image" }>;

/** For adapters: the parts of each entry. Only for targets whose capabilities include images. */
export const loadedEntries = ({ entries }: MixedInput): readonly (readonly LoadedPart[])[] =>
  entries.map(({ parts }) =>
    parts.map((part) => {
      if (part.kind === "text" || part.kind === "image") return part;
      const problem =
        part.kind === "link" ? "An image was not loaded" : "Tokens were not separated from images";
      throw new GatewayError("internal", `${problem} before the request was sent.`);
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
