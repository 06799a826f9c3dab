/** Cohere's native API, v2: a task type in every request, vectors by their type. */
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  ExtraFields,
  QuantizedType,
  Target,
  Upstream,
  Vector,
} from "../contract.ts";
import { onlyImages } from "../mixed-input.ts";
import type { TaskTypeTable } from "../task-type.ts";
import { bearer, bearerRequest, dataUrlOf, jsonRequestFor } from "./wire/build-request.ts";
import { contentEntries, imageUsageOf, webImageTypes } from "./wire/image-parts.ts";
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
    ...cohereImages(model),
  };
}

/** Embed 2 reads texts only. */
const readsImages = (model: string): boolean => !/-v2\.0$/.test(model);

/** From Embed 4 on, `inputs` with texts and images; Embed 3 takes one image, and no text beside it. */
export const cohereFuses = (model: string): boolean => cohereLengths(model) !== undefined;

/**
 * cohere 7.3.1, v2/raw_client.py and types/embed_input.py (read on 2026-11-17); docs.cohere.com/reference/embed: an
 * image is a data URL in jpeg, png, webp or gif; Embed 3 takes one of 5 MB, later models 20 MB together.
 */
export const cohereImages = (model: string): Pick<EmbeddingCapabilities, "images"> => {
  if (!readsImages(model)) return {};
  return {
    images: cohereFuses(model)
      ? {
          types: webImageTypes,
          fuses: "sequence",
          maxBytes: 20_000_000,
          maxRequestBytes: 20_000_000,
        }
      : { types: webImageTypes, maxBytes: 5_000_000, maxItems: 1 },
  };
};

const inputOf = (query: EmbeddingsQuery, target: Target): ExtraFields => {
  const { input } = query;
  const task = { input_type: taskTypeOf(query, capabilities(target)) ?? taskTypes.defaultValue };
  if (input.kind !== "mixed") return { texts: textsOf(query), ...task };
  return cohereFuses(target.model)
    ? { inputs: contentEntries(input), ...task }
    : { images: onlyImages(input).map(({ file }) => dataUrlOf(file)), input_type: "image" };
};

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { mayTruncate, extraFields } = truncation(query);
    const build = jsonRequestFor(query);
    return build(`${baseUrlOf(target.upstream)}/v2/embed`, bearer(target.upstream), {
      // By default, Cohere truncates at the end.
      truncate: mayTruncate ? "END" : "NONE",
      ...extraFields,
      model: target.model,
      ...inputOf(query, target),
      embedding_types: [query.outputType?.type ?? "base64"],
      output_dimension: query.dimensions,
    });
  },
  fromUpstream: async (response, query) => {
    const body = await response.jsonWithVectors();
    const billed = memberOf(memberOf(body, "meta"), "billed_units");
    return {
      vectors: vectorsIn(memberOf(body, "embeddings"), query.outputType?.type),
      ...(query.input.kind === "mixed"
        ? imageUsageOf(
            memberOf(billed, "text_tokens") ?? memberOf(billed, "input_tokens"),
            memberOf(billed, "image_tokens"),
          )
        : usageOf(memberOf(billed, "input_tokens"))),
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
