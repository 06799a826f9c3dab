/** Nomic's native Atlas API. */
import type { EmbeddingsAdapter, UpstreamRequest, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, EmbeddingsQuery, MixedInput, Target } from "../contract.ts";
import { onlyImages } from "../mixed-input.ts";
import type { TaskTypeTable } from "../task-type.ts";
import {
  bearer,
  bearerJsonRequest,
  bearerRequest,
  fieldParts,
  formRequest,
} from "./wire/build-request.ts";
import { commonImageTypes } from "./wire/image-parts.ts";
import { memberOf } from "./wire/members.ts";
import {
  cohereTaskTypes,
  taskTypeOf,
  textsOf,
  usageOf,
  vectorRows,
} from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { truncation } from "./wire/truncation.ts";

const baseUrl = "https://api-atlas.nomic.ai/v1";

const taskTypes: TaskTypeTable = {
  field: "task_type",
  values: cohereTaskTypes,
  // Its default, sent explicitly.
  defaultValue: "search_document",
};

// No limit is documented; Nomic's own client sends 10 texts per request, and several requests in parallel
// (nomic/embed.py). docs.nomic.ai/atlas/models/text-embedding: nomic-embed-text-v1.5 supports other dimensions.
const capabilities = ({ model }: Target): EmbeddingCapabilities => ({
  maxItems: 10,
  base64: false,
  tokens: false,
  taskTypes,
  ...(isVision(model) && { images }),
  ...(model.startsWith("nomic-embed-text-v1.5") && { dimensions: "any" }),
});

/**
 * docs.nomic.ai/reference/endpoints/nomic-embed-vision (read on 2026-11-18): images as files of a form, at an endpoint of
 * their own; 512 at most. docs.nomic.ai/atlas/models/image-embedding: each version is "aligned to" the text model of the
 * same version, which embeds the texts.
 */
const images = { types: [...commonImageTypes, "image/webp"], maxItems: 512 };

const isVision = (model: string): boolean => model.startsWith("nomic-embed-vision-");

const textModel = (model: string): string => model.replace("embed-vision", "embed-text");

const imageRequest = (
  { extraFields }: EmbeddingsQuery,
  input: MixedInput,
  { upstream, model }: Target,
): UpstreamRequest =>
  formRequest(`${upstream.baseUrl ?? baseUrl}/embedding/image`, bearer(upstream), [
    ...fieldParts({ ...extraFields, model }),
    ...onlyImages(input).map(({ file }) => ({ name: "images", file })),
  ]);

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    if (query.input.kind === "mixed") return imageRequest(query, query.input, target);
    const { mayTruncate, extraFields } = truncation(query);
    return bearerJsonRequest(`${upstream.baseUrl ?? baseUrl}/embedding/text`, upstream, {
      // nomic 3.9.0, embed.py: `truncate`, its default, or `mean`, the mean over all parts of the text. Nomic
      // cannot refuse a long text.
      long_text_mode: mayTruncate ? "truncate" : "mean",
      ...extraFields,
      model: textModel(model),
      texts: textsOf(query),
      task_type: taskTypeOf(query, capabilities(target)) ?? taskTypes.defaultValue,
      dimensionality: query.dimensions,
    });
  },
  fromUpstream: async (response) => {
    const body = await response.jsonWithVectors();
    return {
      vectors: vectorRows(memberOf(body, "embeddings")),
      ...usageOf(memberOf(memberOf(body, "usage"), "prompt_tokens")),
    };
  },
};

export const nomic: Vendor = {
  kind: { name: "nomic", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    embeddings,
    probe: (upstream) => bearerRequest(`${upstream.baseUrl ?? baseUrl}/user`, upstream),
    readError: nativeErrorReader(),
  },
};
