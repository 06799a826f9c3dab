/**
 * The model catalog for embeddings, and the vector space of any model. A model that is not listed works like any other.
 */
import { alibaba } from "./alibaba.ts";
import { amazon } from "./amazon.ts";
import { bge } from "./bge.ts";
import { cohere } from "./cohere.ts";
import { e5 } from "./e5.ts";
import { google } from "./google.ts";
import { ibm } from "./ibm.ts";
import { jina } from "./jina.ts";
import type { KnownEmbedding } from "./known-embedding.ts";
import { mistral } from "./mistral.ts";
import { nomic } from "./nomic.ts";
import { nvidia } from "./nvidia.ts";
import { openai } from "./openai.ts";
import { others } from "./others.ts";
import { sentenceTransformers } from "./sentence-transformers.ts";
import { snowflake } from "./snowflake.ts";
import { voyage } from "./voyage.ts";

export { canTruncateTo, type KnownEmbedding } from "./known-embedding.ts";

export const knownEmbeddings: readonly KnownEmbedding[] = [
  ...openai,
  ...google,
  ...cohere,
  ...voyage,
  ...jina,
  ...mistral,
  ...amazon,
  ...nomic,
  ...bge,
  ...e5,
  ...alibaba,
  ...snowflake,
  ...sentenceTransformers,
  ...nvidia,
  ...ibm,
  ...others,
];

const embeddingsByName = new Map(
  knownEmbeddings.flatMap((row) =>
    [row.name, ...(row.also ?? [])].map((name): [string, KnownEmbedding] => [name, row]),
  ),
);
/** By `kind name`. */
const embeddingsByKindAndName = new Map(
  knownEmbeddings.flatMap((row) =>
    Object.entries(row.at ?? {}).flatMap(([kind, names]) =>
      names.map((name): [string, KnownEmbedding] => [`${kind} ${name}`, row]),
    ),
  ),
);

/** Bedrock: `us.cohere.embed-v4:0`, with a region, the owner and a version around the name. */
const bedrock = /^(?:[a-z-]{2,6}\.)?(?:amazon|cohere|twelvelabs)\.(.+?)(?::\d+)?(?::\d+k)?$/;

// Copies with 16 or 8 bits per weight return vectors very close to the original's, so they are in the same space. With
// fewer bits the deviation grows (huggingface.co/s3dev-ai/nomic-embed-text-v1.5-gguf), and no threshold is known: those
// keep their own names, and need `sameSpace`.
const precise = /(?:-gguf)?[-_.:@](?:fp?32|fp?16|bf16|q8_0)(?:\.gguf)?$/;

/** Normalizes a vendor's model name: without the owner and `:latest`, in lower case. */
function normalizeModelName(model: string): string {
  const small = model.toLowerCase();
  const ownerless = small.slice(small.lastIndexOf("/") + 1) || small;
  return ownerless.replace(bedrock, "$1").replace(/:(?:latest|free)$/, "");
}

/** The catalog entry of a model. Names with a meaning at only one kind of upstream need `kind`. */
export function knownEmbedding(model: string, kind?: string): KnownEmbedding | undefined {
  // That upstream has one model, whatever it is called in the configuration.
  if (kind === "minilm") return embeddingsByName.get("all-minilm-l6-v2");
  const name = normalizeModelName(model);
  const vendorKind = model.includes("@cf/") ? "cloudflare" : kind;
  return (
    embeddingsByKindAndName.get(`${vendorKind} ${name}`) ??
    embeddingsByName.get(name) ??
    embeddingsByName.get(name.replace(precise, ""))
  );
}

/** Kinds of upstream whose targets name a deployment. The operator may give it any name. */
const deployments = new Set(["azure", "azure-ai", "databricks", "sagemaker", "triton"]);

/** The vector space of a target: the canonical name of a known model, else the normalized name. */
export function vectorSpaceOf(model: string, kind?: string): string {
  const known = knownEmbedding(model, kind);
  if (known) return known.name;
  // The slash prevents a collision with the name of a model.
  return kind && deployments.has(kind)
    ? `${kind}/${normalizeModelName(model)}`
    : normalizeModelName(model);
}
