/** Hugging Face's HF Inference: the model is in the URL. */
import type { EmbeddingsAdapter, Vendor } from "../../adapter.ts";
import type { EmbeddingCapabilities, Target } from "../../contract.ts";
import { bearerJsonRequest, modelPath } from "../wire/build-request.ts";
import { taskTypeOf, textsOf, vectorRows } from "../wire/native-embeddings.ts";
import { nativeErrorReader } from "../wire/native-errors.ts";
import { truncation } from "../wire/truncation.ts";
import {
  huggingfaceBaseUrl,
  huggingfaceEdits,
  huggingfaceGenerations,
  huggingfaceImageCapabilities,
} from "./images.ts";
import { promptsOf, promptsOption } from "./prompts.ts";

// @huggingface/tasks, feature-extraction/spec/input.json: the fields are those of text-embeddings-inference. No limit
// is documented; that server takes 32 texts per request by default.
const capabilities = ({ upstream }: Target): EmbeddingCapabilities => ({
  maxItems: 32,
  base64: false,
  tokens: false,
  taskTypes: promptsOf(upstream),
});

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const { mayTruncate, extraFields } = truncation(query);
    const task = `models/${modelPath(model)}/pipeline/feature-extraction`;
    return bearerJsonRequest(`${upstream.baseUrl ?? huggingfaceBaseUrl}/${task}`, upstream, {
      ...extraFields,
      inputs: textsOf(query),
      prompt_name: taskTypeOf(query, capabilities(target)),
      truncate: mayTruncate,
    });
  },
  fromUpstream: async (response) => ({ vectors: vectorRows(await response.jsonWithVectors()) }),
};

export const huggingface: Vendor = {
  kind: {
    name: "huggingface",
    baseUrl: huggingfaceBaseUrl,
    needs: ["apiKey"],
    options: { prompts: promptsOption },
  },
  adapter: {
    embeddings,
    generations: huggingfaceGenerations,
    edits: huggingfaceEdits,
    imageCapabilities: () => huggingfaceImageCapabilities,
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        // The model is the only variable part of the URL, so a 404 means an unknown model.
        if (status === 404 || /\bnot supported by provider\b/.test(message)) return "no such model";
        return /\bmaximum allowed batch size\b/.test(message) && "too many inputs";
      },
    }),
  },
};
