/** Embedding model families on Amazon Bedrock: each has its own request body. */
import { packBits } from "../../../lib/packed-bits.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  ExtraFields,
  QuantizedType,
  Vector,
} from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { cohereLengths } from "../cohere.ts";
import { listIn, memberOf } from "../wire/members.ts";
import {
  cohereTaskTypes,
  taskTypeOf,
  textsOf,
  vectorIn,
  vectorRows,
} from "../wire/native-embeddings.ts";
import { truncation } from "../wire/truncation.ts";
import {
  cohere3Images,
  cohere4Images,
  cohereInput,
  marengoImages,
  marengoInput,
  novaImages,
  novaInput,
  titanImages,
  titanInput,
} from "./bedrock-embedding-inputs.ts";

export interface EmbeddingFamily {
  readonly capabilities: EmbeddingCapabilities;
  body(query: EmbeddingsQuery): ExtraFields;
  vectors(response: unknown, type: QuantizedType | undefined): readonly Vector[];
  /** The field with the number of input tokens. */
  readonly tokens?: string;
}

const noTokens = { base64: false, tokens: false } as const;

/** docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html */
const titanOf = (more: Partial<EmbeddingCapabilities>): EmbeddingFamily => ({
  capabilities: { ...noTokens, maxItems: 1, taskTypes: "indifferent", ...more },
  body: (query) => ({
    ...query.extraFields,
    inputText: textsOf(query)[0],
    ...(query.dimensions !== undefined && { dimensions: query.dimensions }),
  }),
  vectors: (response) => [vectorIn(response, "embedding")],
  tokens: "inputTextTokenCount",
});

/**
 * docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-mm.html: Titan Multimodal Embeddings has
 * another field for the dimensions, and other dimensions.
 */
const titanMultimodal: EmbeddingFamily = {
  ...titanOf({ dimensions: [256, 384, 1024], images: titanImages }),
  body: (query) => ({
    ...query.extraFields,
    ...titanInput(query),
    ...(query.dimensions !== undefined && {
      embeddingConfig: { outputEmbeddingLength: query.dimensions },
    }),
  }),
};

const titan1 = titanOf({});

/**
 * `normalize` is true by default. Binary vectors are lists of 0 and 1, one for each dimension (vercel/ai#5642 prints
 * one); the page does not say so.
 */
const titan2Of = (plain: EmbeddingFamily): EmbeddingFamily => ({
  ...plain,
  body: (query) => ({
    ...plain.body(query),
    ...(query.outputType && { embeddingTypes: ["binary"] }),
  }),
  vectors: (response, type) =>
    type
      ? [bitsIn(memberOf(response, "embeddingsByType"), "binary")]
      : plain.vectors(response, undefined),
});

const titan2 = titan2Of(
  titanOf({
    dimensions: [256, 512, 1024],
    normalized: true,
    outputTypes: { field: "embeddingTypes", types: ["ubinary"] },
  }),
);

function bitsIn(entry: unknown, name: string): Vector {
  const bits = Float32Array.from(vectorIn(entry, name) as ArrayLike<number>);
  if (bits.length % 8 !== 0 || !bits.every((bit) => bit === 0 || bit === 1))
    throw invalidResponse(`\`${name}\` is not a list of bits in whole bytes`);
  return packBits(bits.map((bit) => bit - 1));
}

/**
 * docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed-v3.html and -v4.html. `end`: the value of
 * `truncate` for truncation at the end, which differs between the versions.
 */
function cohereOf(end: string, more: Partial<EmbeddingCapabilities>): EmbeddingFamily {
  const capabilities: EmbeddingCapabilities = {
    ...noTokens,
    maxItems: 96,
    taskTypes: {
      field: "input_type",
      values: cohereTaskTypes,
      // The default is a document: most vectors are indexed, and clients that query send a task type.
      defaultValue: "search_document",
    },
    outputTypes: { field: "embedding_types", types: ["int8", "uint8", "ubinary"] },
    ...more,
  };
  return {
    capabilities,
    body: (query) => {
      const { mayTruncate, extraFields } = truncation(query);
      return {
        // Embed 3 refuses by default; the page on Embed 4 does not document the default.
        truncate: mayTruncate ? end : "NONE",
        ...extraFields,
        ...cohereInput(query, taskTypeOf(query, capabilities), end === "END"),
        embedding_types: [query.outputType?.type ?? "float"],
        ...(query.dimensions !== undefined && { output_dimension: query.dimensions }),
      };
    },
    // An object by embedding type, as requested. Models without types return a plain list.
    vectors: (response, type) => {
      const embeddings = memberOf(response, "embeddings");
      if (type) return vectorRows(memberOf(embeddings, type));
      return vectorRows(memberOf(embeddings, "float") ?? embeddings);
    },
  };
}

const cohere3 = cohereOf("END", { images: cohere3Images });
/** The dimensions follow from the model's name. An ARN has no name, and gets those of Embed 4. */
const cohereLater = (model: string): EmbeddingFamily =>
  cohereOf("RIGHT", {
    dimensions: cohereLengths(model) ?? [256, 512, 1024, 1536],
    images: cohere4Images,
  });

/**
 * docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html: `GENERIC_INDEX` for vectors of any modality,
 * `GENERIC_RETRIEVAL` to search vectors of several modalities, `TEXT_RETRIEVAL` to search those of texts only.
 */
const novaCapabilities: EmbeddingCapabilities = {
  ...noTokens,
  maxItems: 1,
  dimensions: [256, 384, 1024, 3072],
  taskTypes: {
    field: "embeddingPurpose",
    values: {
      // The gateway does not know the index that is searched: it may have images.
      query: "GENERIC_RETRIEVAL",
      document: "GENERIC_INDEX",
      classification: "CLASSIFICATION",
      clustering: "CLUSTERING",
    },
    otherValues: ["TEXT_RETRIEVAL", "IMAGE_RETRIEVAL", "DOCUMENT_RETRIEVAL"],
    defaultValue: "GENERIC_INDEX",
  },
  images: novaImages,
};

const nova: EmbeddingFamily = {
  capabilities: novaCapabilities,
  body: (query) => {
    const { mayTruncate, extraFields } = truncation(query);
    return {
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        ...extraFields,
        embeddingPurpose: taskTypeOf(query, novaCapabilities),
        ...(query.dimensions !== undefined && { embeddingDimension: query.dimensions }),
        ...novaInput(query, mayTruncate ? "END" : "NONE"),
      },
    };
  },
  vectors: (response) =>
    listIn(response, "embeddings").map((entry) => vectorIn(entry, "embedding")),
  tokens: "inputTokenCount",
};

/**
 * docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-marengo-3.html. One text, one image, or both; the vectors
 * are in `data` or, by litellm 1.109.1, in `embedding`.
 */
const marengo: EmbeddingFamily = {
  capabilities: { ...noTokens, maxItems: 1, taskTypes: "indifferent", images: marengoImages },
  body: (query) => ({ ...query.extraFields, ...marengoInput(query) }),
  vectors: (response) =>
    memberOf(response, "embedding") === undefined
      ? listIn(response, "data").map((entry) => vectorIn(entry, "embedding"))
      : [vectorIn(response, "embedding")],
};

export const familyNames = ["titan", "cohere", "nova", "marengo"] as const;
type FamilyName = (typeof familyNames)[number];

/** Whether it is the name of an embedding family: some families only generate images. */
export const isFamily = (name: unknown): boolean => familyNames.some((family) => family === name);

/**
 * By the model's id, which may have a region prefix: `eu.cohere.embed-v4:0`. The ARN of a profile does not show the
 * family.
 */
export function embeddingFamilyOf(model: string, given: unknown): EmbeddingFamily {
  switch ((given as FamilyName | undefined) ?? nameOf(model)) {
    case "cohere":
      return /embed-(english|multilingual)-v3/.test(model) ? cohere3 : cohereLater(model);
    case "nova":
      return nova;
    case "marengo":
      return marengo;
    default:
      if (/titan-embed-image/.test(model)) return titanMultimodal;
      return /titan-embed-(text-v1|g1)/.test(model) ? titan1 : titan2;
  }
}

/** Undefined if the id does not show the family: request bodies of one family are invalid for another. */
export function nameOf(model: string): FamilyName | undefined {
  if (model.includes("cohere.embed")) return "cohere";
  if (/nova-.*embed/.test(model)) return "nova";
  // Version 2.7 has another body. Amazon ends it on 2026-11-30.
  if (/marengo-embed-(?!2)/.test(model)) return "marengo";
  return /titan-embed/.test(model) ? "titan" : undefined;
}
