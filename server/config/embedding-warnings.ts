/** Warnings about configured embedding models that are valid but cannot serve a request, from the catalog's facts. */
import { cohere } from "../upstream/catalog/cohere.ts";
import { google } from "../upstream/catalog/google.ts";
import { canBeCutTo, type KnownEmbedding, knownEmbedding } from "../upstream/catalog/index.ts";
import { jina } from "../upstream/catalog/jina.ts";
import { mistral } from "../upstream/catalog/mistral.ts";
import { nomic } from "../upstream/catalog/nomic.ts";
import { openai } from "../upstream/catalog/openai.ts";
import { voyage } from "../upstream/catalog/voyage.ts";
import type { Target } from "../upstream/contract.ts";
import { kinds } from "../upstream/kinds.ts";
import type { Model, Snapshot } from "./snapshot.ts";

/** Vendors that serve only their own models at their own address. */
const vendorModels: ReadonlyMap<string, readonly KnownEmbedding[]> = new Map([
  ["openai", openai],
  ["cohere", cohere],
  ["voyage", voyage],
  ["jina", jina],
  ["mistral", mistral],
  ["nomic", nomic],
  ["gemini", google],
]);

export const embeddingWarnings = ({ models }: Pick<Snapshot, "models">): string[] =>
  [...models.values()]
    .filter(({ kind, source }) => kind === "embedding" && (source === "file" || source === "store"))
    .flatMap((model) => [...dimensionsWarning(model), ...wrongVendorWarning(model)]);

/** `dimensions` of a model declares the length of its vectors; authors often expect it to shorten them. */
function dimensionsWarning({ id, dimensions, known, targets }: Model): string[] {
  if (!known || dimensions === undefined || dimensions === known.dimensions) return [];
  // A self-hosted server may be configured to shorten them.
  if (canBeCutTo(known, dimensions) && !targets.some(isAtVendorAddress)) return [];
  return [
    `the model ${JSON.stringify(id)} has dimensions: ${dimensions}, but ${known.name} returns ${known.dimensions} unless a request has dimensions: its responses will be refused; remove the key, and let clients send dimensions if the model supports it`,
  ];
}

function wrongVendorWarning({ id, targets }: Model): string[] {
  return targets.flatMap((target) => {
    const { upstream, model } = target;
    const known = knownEmbedding(model, upstream.kind);
    const own = vendorModels.get(upstream.kind);
    if (!known || !own || own.includes(known) || !isAtVendorAddress(target)) return [];
    return [
      `the model ${JSON.stringify(id)} has the target ${JSON.stringify(model)} at ${JSON.stringify(upstream.id)}, which is of kind ${upstream.kind} and does not serve this model`,
    ];
  });
}

/** The upstream is the vendor itself, not another server of the same kind. */
const isAtVendorAddress = ({ upstream: { kind, baseUrl } }: Target): boolean =>
  Boolean(baseUrl?.startsWith("https:")) && baseUrl === kinds.get(kind)?.baseUrl;
