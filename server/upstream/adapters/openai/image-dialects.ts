/**
 * Images in the embeddings of OpenAI-compatible servers: which models read them, and in which form. An operator names the
 * models of a server, so those are recognized that have the names of their authors.
 */
import type { ExtraFields, ImageInputCapabilities, MixedInput } from "../../contract.ts";
import { imagesWithText, loadedEntries, onlyImages } from "../../mixed-input.ts";
import { dataUrlOf } from "../wire/build-request.ts";
import { chatPart, commonImageTypes, webImageTypes } from "../wire/image-parts.ts";
import type { EmbeddingsDialect, ModelExceptions } from "./embeddings.ts";

type ImageDialect = EmbeddingsDialect & { readonly models: ModelExceptions };

/** Two towers, one for texts and one for images: such models fuse nothing. */
const towers = /clip|siglip/i;
/** Language models that read images: GME, Qwen3-VL-Embedding, VLM2Vec, E5-V, jina-embeddings-v4. */
const visionLanguage = /\bgme-|[-_]vl[-_]|vlm2vec|\be5-v\b|jina-embeddings-v4/i;

const reading = (
  fuses: ImageInputCapabilities["fuses"],
  more: Partial<ImageInputCapabilities> = {},
): ModelExceptions => [
  [towers, { images: { types: webImageTypes, ...more } }],
  [visionLanguage, { images: { types: webImageTypes, ...(fuses && { fuses }), ...more } }],
];

const dataUrls = (input: MixedInput) => onlyImages(input).map(({ file }) => dataUrlOf(file));

/** Qwen3-VL-Embedding embeds the end of a conversation with an instruction. Its authors' instruction for any content. */
const qwen3Vl = /qwen3-vl-embedding/i;
const qwen3VlInstruction = { type: "text", text: "Represent the user's input." };

/** vllm 0.33.0, examples/pooling/embed/vision_embedding_online.py. */
const conversation = (content: readonly ExtraFields[], model: string): ExtraFields =>
  qwen3Vl.test(model)
    ? {
        messages: [
          { role: "system", content: [qwen3VlInstruction] },
          { role: "user", content },
          { role: "assistant", content: [{ type: "text", text: "" }] },
        ],
        continue_final_message: true,
        add_special_tokens: true,
      }
    : { messages: [{ role: "user", content }] };

const isVisionLanguage = (model: string): boolean =>
  !towers.test(model) && visionLanguage.test(model);

/**
 * vllm 0.33.0, EmbeddingChatRequest: one conversation in a request, as earlier versions take it. A list of them is new in
 * this version. vLLM applies the chat template of a model to `messages` only, so a text beside images goes there too:
 * in `input`, it would be embedded without the words that surround it in the template.
 */
export const vllmImages: ImageDialect = {
  models: reading("sequence", { maxItems: 1 }).map(([name, more]) =>
    name === visionLanguage ? [name, { ...more, maxItems: 1, tokens: false }] : [name, more],
  ),
  writeImages: (input, model) => conversation(loadedEntries(input).flat().map(chatPart), model),
  writeTexts: (texts, model) =>
    isVisionLanguage(model)
      ? conversation(
          texts.map((text) => ({ type: "text", text })),
          model,
        )
      : undefined,
};

/** Another Vexel, which knows the models that read images. */
export const vexelImages: ImageInputCapabilities = {
  isAssumed: true,
  types: [...webImageTypes, "image/avif"],
  fuses: "sequence",
  maxPerRequest: 256,
};

/**
 * sglang 0.5.23, MultimodalEmbeddingInput: `{text, image}`, which one vector is made of. serving_embedding.py applies the
 * chat template of a model to such objects only, so a text beside images is an object too: as a string, it would be
 * embedded without the words that surround it in the template.
 */
export const sglangImages: ImageDialect = {
  models: reading("pair").map(([name, more]) =>
    name === visionLanguage ? [name, { ...more, tokens: false }] : [name, more],
  ),
  writeTexts: (texts, model) =>
    isVisionLanguage(model) ? { input: texts.map((text) => ({ text })) } : undefined,
  writeImages: (input) => ({
    input: imagesWithText(input).map(({ image, text }) => ({ text, image: dataUrlOf(image.file) })),
  }),
};

/** infinity-emb 0.0.78, fastapi_schemas/pymodels.py: at most 32 links or data URLs, and one modality for all of them. */
export const infinityImages: ImageDialect = {
  models: reading(undefined, { maxItems: 32 }),
  writeImages: (input) => ({ input: dataUrls(input), modality: "image" }),
};

/** xinference 4.1.0: `{text}` or `{image}`, a link or a data URL. */
export const xinferenceImages: ImageDialect = {
  models: reading(undefined),
  writeImages: (input) => ({ input: dataUrls(input).map((image) => ({ image })) }),
};

/**
 * docs.nvidia.com/nim/nemo-retriever/text-embedding/2.2.0/reference.html: data URLs, and images as passages only. How a
 * text and a data URL are written in one string is not documented, so nothing is fused. Nemotron 3.5 Embed reads text
 * and page images: embedding/2.4/release-notes.html, and build.nvidia.com/nvidia/nemotron-3_5-embed-1b.
 */
export const nvidiaImages: ImageDialect = {
  models: [
    [
      /-embed-vl-|-vlm-embed-|nemotron-3[._]5-embed-/i,
      { dimensions: "any", images: { types: commonImageTypes } },
    ],
  ],
  writeImages: (input) => ({
    input: dataUrls(input),
    modality: input.entries.map(() => "image"),
    input_type: "passage",
  }),
};
