/**
 * Model Studio's models for texts and images, at an endpoint of their own: each entry of `contents` gives one vector, or
 * all of them together give one (dashscope 2.0.2, MultiModalEmbedding;
 * alibabacloud.com/help/en/model-studio/multimodal-embedding-api-reference, both read on 2026-11-17).
 */
import type { EmbeddingsAdapter } from "../../adapter.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
  ImageInputCapabilities,
  Target,
} from "../../contract.ts";
import { imagesWithText, type LoadedPart, loadedEntries } from "../../mixed-input.ts";
import { orderByIndex } from "../openai/embeddings.ts";
import { bearer, dataUrlOf, jsonRequestFor } from "../wire/build-request.ts";
import { commonImageTypes, imageUsageOf } from "../wire/image-parts.ts";
import { isCount, listIn, memberOf } from "../wire/members.ts";
import { textsOf, usageOf, vectorIn } from "../wire/native-embeddings.ts";
import { dashscopeRoot } from "./images.ts";

export const isMultimodal = (model: string): boolean =>
  /^(qwen[\d.]+-vl-embedding|tongyi-embedding-vision-|multimodal-embedding-v)/.test(model);

/** `enable_fusion` fuses the whole request. */
const fusesByOption = (model: string): boolean => model.startsWith("qwen3-vl");
/** It always fuses the whole request. */
const fusesAlways = (model: string): boolean => model.startsWith("qwen2.5-vl");
/** The members of one entry of `contents` are fused. */
const fusesInEntry = (model: string): boolean => /-vision-.*-2026-03-06$/.test(model);

/** One entry of images per request: its number is documented for one model only. */
function imagesOf(model: string): ImageInputCapabilities {
  const maxBytes = /-vision-plus/.test(model) ? 10_000_000 : 5_000_000;
  const common = { types: commonImageTypes, maxBytes, maxItems: 1 };
  if (fusesByOption(model) || fusesAlways(model)) return { ...common, fuses: "sequence" };
  return fusesInEntry(model) ? { ...common, fuses: "pair" } : common;
}

/** qwen3-vl-embedding has several lengths up to 2560, of which not all are documented: DashScope decides. */
const lengths: readonly (readonly [RegExp, "any" | readonly number[]])[] = [
  [/^qwen3-vl/, "any"],
  [/-vision-plus/, [64, 128, 256, 512, 1024, 1152]],
  [/-vision-flash/, [64, 128, 256, 512, 768]],
];

function capabilities({ model }: Target): EmbeddingCapabilities {
  const dimensions = lengths.find(([name]) => name.test(model))?.[1];
  return {
    maxItems: fusesByOption(model) ? 20 : 1,
    base64: false,
    tokens: false,
    taskTypes: "indifferent",
    images: imagesOf(model),
    ...(dimensions && { dimensions }),
  };
}

const contentOf = (part: LoadedPart): ExtraFields =>
  part.kind === "text" ? { text: part.text } : { image: dataUrlOf(part.image.file) };

function contentsOf(query: EmbeddingsQuery, { model }: Target): readonly ExtraFields[] {
  const { input } = query;
  if (input.kind !== "mixed") return textsOf(query).map((text) => ({ text }));
  if (!fusesInEntry(model)) return loadedEntries(input).flat().map(contentOf);
  return imagesWithText(input).map(({ image, text }) => ({ text, image: dataUrlOf(image.file) }));
}

const isFused = ({ input }: EmbeddingsQuery): boolean =>
  input.kind === "mixed" && input.entries.some(({ parts }) => parts.length > 1);

/** Some models report texts and images apart in `input_tokens_details`, others the images next to the texts. */
function usageIn(usage: unknown, query: EmbeddingsQuery): Pick<EmbeddingsResponse, "usage"> {
  const details = memberOf(usage, "input_tokens_details");
  const [total, input] = ["total_tokens", "input_tokens"].map((name) => memberOf(usage, name));
  if (query.input.kind !== "mixed") return usageOf(isCount(total) ? total : input);
  return details === undefined
    ? imageUsageOf(input, memberOf(usage, "image_tokens"))
    : imageUsageOf(memberOf(details, "text_tokens"), memberOf(details, "image_tokens"));
}

export const multimodalEmbeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const url = `${dashscopeRoot(upstream)}/services/embeddings/multimodal-embedding/multimodal-embedding`;
    return jsonRequestFor(query)(url, bearer(upstream), {
      model,
      input: { contents: contentsOf(query, target) },
      parameters: {
        ...query.extraFields,
        dimension: query.dimensions,
        enable_fusion: fusesByOption(model) && isFused(query) ? true : undefined,
      },
    });
  },
  fromUpstream: async (response, query) => {
    const body = await response.jsonWithVectors();
    const entries = listIn(memberOf(body, "output"), "embeddings").map((entry) => ({
      index: memberOf(entry, "index"),
      embedding: vectorIn(entry, "embedding"),
    }));
    return { vectors: orderByIndex(entries, query), ...usageIn(memberOf(body, "usage"), query) };
  },
};
