/** Voyage AI: nearly OpenAI's language, with names of its own for what is asked and a usage in one number. */
import type { EmbeddingsQuestion } from "../adapter.ts";
import type { EmbeddingTraits, Target } from "../contract.ts";
import type { PurposeTable } from "../purpose.ts";
import type { Vendor } from "../vendor.ts";
import { readEmbeddings } from "./openai/embeddings.ts";
import { askWithBearer } from "./wire/ask.ts";
import { textsOf, wordOf } from "./wire/native-embeddings.ts";
import { nativeFault } from "./wire/native-fault.ts";
import { truncation } from "./wire/truncation.ts";

const baseUrl = "https://api.voyageai.com/v1";

const purposes: PurposeTable = {
  field: "input_type",
  words: { query: "query", document: "document" },
};

/** docs.voyageai.com/reference/embeddings-api: the most tokens of a call, model by model. */
function maxTokens(model: string): number {
  if (/-lite$/.test(model)) return 1_000_000;
  return /^voyage-(2|3|3\.5|4)$/.test(model) ? 320_000 : 120_000;
}

// The same page: 1000 texts; these lengths, with the models named here.
const traits = ({ model }: Target): EmbeddingTraits => ({
  maxItems: 1000,
  maxTokens: maxTokens(model),
  base64: true,
  tokens: false,
  purposes,
  ...(/^voyage-(4|3\.5|3-large|code-3)/.test(model) && { dimensions: [256, 512, 1024, 2048] }),
});

const embeddings: EmbeddingsQuestion = {
  traits,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const { cut, rest } = truncation(query);
    return askWithBearer(`${upstream.baseUrl ?? baseUrl}/embeddings`, upstream, {
      ...rest,
      model,
      input: textsOf(query),
      input_type: wordOf(query, traits(target)),
      // Unasked, Voyage would cut off the end.
      truncation: cut,
      output_dimension: query.dimensions,
      encoding_format: "base64",
    });
  },
  fromUpstream: async (reply, query) => readEmbeddings(await reply.bytes(), query),
};

export const voyage: Vendor = {
  kind: { name: "voyage", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    name: "voyage",
    embeddings,
    fault: nativeFault({
      recognise: ({ status, words }) => {
        if (status !== 400) return undefined;
        if (/\btokens per submitted batch\b/.test(words)) return "too much at once";
        return /^Model \S+ is not supported/i.test(words) && "no such model";
      },
    }),
  },
};
