/** Cohere's native API, v2: a task type in every request, vectors by their type. */
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type {
  EmbeddingCapabilities,
  QuantizedType,
  Target,
  Upstream,
  Vector,
} from "../contract.ts";
import type { TaskTypeTable } from "../task-type.ts";
import { bearerJsonRequest, bearerRequest } from "./wire/build-request.ts";
import { memberOf, membersOfList } from "./wire/members.ts";
import {
  cohereTaskTypes,
  taskTypeOf,
  textsOf,
  usageOf,
  vectorRows,
} from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { truncation } from "./wire/truncation.ts";

const baseUrl = "https://api.cohere.com";

/** A configured base URL may end with the API version, as Cohere's other clients require. */
const baseUrlOf = (upstream: Upstream): string =>
  (upstream.baseUrl ?? baseUrl).replace(/\/v[12]$/, "");

const taskTypes: TaskTypeTable = {
  field: "input_type",
  values: cohereTaskTypes,
  // The default is a document: most vectors are indexed, and clients that query send a task type.
  defaultValue: "search_document",
};

/**
 * docs.cohere.com/changelog/embed-v5 (2026-09-30), docs.cohere.com/docs/cohere-embed: earlier models have one length.
 */
export function cohereLengths(model: string): readonly number[] | undefined {
  const version = Number(/embed-v-?(\d+)/i.exec(model)?.[1] ?? 0);
  if (version >= 5) return [256, 512, 768, 1024, 1536, 2048];
  return version === 4 ? [256, 512, 1024, 1536] : undefined;
}

/**
 * docs.cohere.com/reference/embed: quantized vectors since Embed 3. cohere 7.3.1, EmbeddingType: the same names in all
 * surfaces of Cohere's models. `field`: its name differs between the surfaces.
 */
export const cohereOutputTypes = (
  model: string,
  field: string,
): Pick<EmbeddingCapabilities, "outputTypes"> =>
  /embed-.*v-?2\b/i.test(model)
    ? {}
    : { outputTypes: { field, types: ["int8", "uint8", "ubinary"] } };

// docs.cohere.com/reference/embed: 96 texts a request.
function capabilities({ model }: Target): EmbeddingCapabilities {
  const dimensions = cohereLengths(model);
  return {
    maxItems: 96,
    base64: true,
    tokens: false,
    taskTypes,
    ...(dimensions && { dimensions }),
    ...cohereOutputTypes(model, "embedding_types"),
  };
}

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { mayTruncate, extraFields } = truncation(query);
    return bearerJsonRequest(`${baseUrlOf(target.upstream)}/v2/embed`, target.upstream, {
      // By default, Cohere truncates at the end.
      truncate: mayTruncate ? "END" : "NONE",
      ...extraFields,
      model: target.model,
      texts: textsOf(query),
      input_type: taskTypeOf(query, capabilities(target)) ?? taskTypes.defaultValue,
      embedding_types: [query.outputType?.type ?? "base64"],
      output_dimension: query.dimensions,
    });
  },
  fromUpstream: async (response, { outputType }) => {
    const body = await response.json();
    const billed = memberOf(memberOf(body, "meta"), "billed_units");
    return {
      vectors: vectorsIn(memberOf(body, "embeddings"), outputType?.type),
      ...usageOf(memberOf(billed, "input_tokens")),
    };
  },
};

function vectorsIn(byType: unknown, type: QuantizedType | undefined): readonly Vector[] {
  if (type) return vectorRows(memberOf(byType, type));
  const packed = memberOf(byType, "base64");
  return Array.isArray(packed) && packed.every((row) => typeof row === "string")
    ? packed
    : vectorRows(memberOf(byType, "float"));
}

export const cohere: Vendor = {
  kind: { name: "cohere", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    embeddings,
    models: {
      request: (upstream) =>
        bearerRequest(`${baseUrlOf(upstream)}/v1/models?page_size=1000&endpoint=embed`, upstream),
      read: membersOfList("models", "name"),
    },
    readError: nativeErrorReader({
      // An unknown path also returns 404.
      classify: ({ status, message }) =>
        status === 404 && /\bmodel\b.*\bnot found\b/.test(message) && "no such model",
    }),
  },
};
