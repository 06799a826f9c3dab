/** Nomic's native Atlas API. */
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, Target } from "../contract.ts";
import type { TaskTypeTable } from "../task-type.ts";
import { bearerJsonRequest, bearerRequest } from "./wire/build-request.ts";
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
  ...(model.startsWith("nomic-embed-text-v1.5") && { dimensions: "any" }),
});

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const { mayTruncate, extraFields } = truncation(query);
    return bearerJsonRequest(`${upstream.baseUrl ?? baseUrl}/embedding/text`, upstream, {
      // nomic 3.9.0, embed.py: `truncate`, its default, or `mean`, the mean over all parts of the text. Nomic
      // cannot refuse a long text.
      long_text_mode: mayTruncate ? "truncate" : "mean",
      ...extraFields,
      model,
      texts: textsOf(query),
      task_type: taskTypeOf(query, capabilities(target)) ?? taskTypes.defaultValue,
      dimensionality: query.dimensions,
    });
  },
  fromUpstream: async (response) => {
    const body = await response.json();
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
