/** The texts and images of embeddings requests to Amazon Bedrock, as each model family takes them. */
import type { EmbeddingsQuery, ExtraFields, ImageInputCapabilities } from "../../contract.ts";
import { imagesWithText, loadedEntries, onlyImages } from "../../mixed-input.ts";
import { dataUrlOf, FileContent } from "../wire/build-request.ts";
import { commonImageTypes, contentEntries, webImageTypes } from "../wire/image-parts.ts";
import { textsOf } from "../wire/native-embeddings.ts";

/** docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v3.html: "image/jpeg or image/png", one of 5 MB. */
export const cohere3Images: ImageInputCapabilities = {
  types: commonImageTypes,
  maxBytes: 5_000_000,
  maxItems: 1,
};

/** docs.cohere.com/reference/embed: 20 MB together. A body of Bedrock has 25 MB at most, with images in base64. */
export const cohere4Images: ImageInputCapabilities = {
  types: webImageTypes,
  fuses: "sequence",
  maxBytes: 18_000_000,
  maxRequestBytes: 18_000_000,
};

/** `images` if every entry is one image: Embed 3 has no `inputs`. `taskType`: of texts, and of images from Embed 4 on. */
export function cohereInput(
  query: EmbeddingsQuery,
  taskType: string | undefined,
  isVersion3: boolean,
): ExtraFields {
  const { input } = query;
  if (input.kind !== "mixed") return { texts: textsOf(query), input_type: taskType };
  if (loadedEntries(input).some(({ length }) => length > 1))
    return { inputs: contentEntries(input), input_type: taskType };
  return {
    images: onlyImages(input).map(({ file }) => dataUrlOf(file)),
    input_type: isVersion3 ? "image" : taskType,
  };
}

/** The image of the only entry and its text, or the only text. */
function onlyEntry(query: EmbeddingsQuery) {
  const [entry] = query.input.kind === "mixed" ? imagesWithText(query.input) : [];
  const text = query.input.kind === "mixed" ? entry?.text : textsOf(query)[0];
  const image = entry && new FileContent(entry.image.file);
  return { text, image, type: entry?.image.file.type };
}

/**
 * docs.aws.amazon.com/bedrock/latest/userguide/titan-multiemb-models.html: 25 MB, 2048x2048. The vector of a text and an
 * image is the average of both.
 */
export const titanImages: ImageInputCapabilities = {
  types: commonImageTypes,
  fuses: "pair",
  maxBytes: 18_000_000,
  maxPixels: 2048 * 2048,
};

export function titanInput(query: EmbeddingsQuery): ExtraFields {
  const { text, image } = onlyEntry(query);
  return { inputText: text, inputImage: image };
}

/** docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html: one text or one image. */
export const novaImages: ImageInputCapabilities = { types: webImageTypes, maxBytes: 18_000_000 };

export function novaInput(query: EmbeddingsQuery, truncationMode: string): ExtraFields {
  const { text, image, type = "" } = onlyEntry(query);
  return image
    ? { image: { format: type.replace("image/", ""), source: { bytes: image } } }
    : // `truncationMode` is a required field.
      { text: { truncationMode, value: text } };
}

/** docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-marengo-3.html: 5 MB. */
export const marengoImages: ImageInputCapabilities = {
  types: commonImageTypes,
  fuses: "pair",
  maxBytes: 5_000_000,
};

export function marengoInput(query: EmbeddingsQuery): ExtraFields {
  const { text: inputText, image } = onlyEntry(query);
  const mediaSource = { base64String: image };
  if (!image) return { inputType: "text", text: { inputText } };
  return inputText === undefined
    ? { inputType: "image", image: { mediaSource } }
    : { inputType: "text_image", text_image: { inputText, mediaSource } };
}
