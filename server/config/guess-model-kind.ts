/** Guesses what a model of an upstream's list is, from the catalog and from its name. */
import { knownEmbedding } from "../upstream/catalog/index.ts";
import { kinds } from "../upstream/kinds.ts";
import { catalogModels } from "./catalog-models.ts";

const imageNames =
  /(^|[-_/.])(dall-e|gpt-image|imagen|flux|stable-(diffusion|image)|sdxl|sd3|[a-z-]*image|kolors|cogview|seedream|ideogram|recraft)/i;

/** Undefined: neither the catalog nor the name shows the kind. Most models of large vendors are language models. */
export function guessModelKind(
  model: string,
  upstreamKind: string,
): "embedding" | "image" | undefined {
  const only = kinds.get(upstreamKind)?.serves;
  if (only === "image") return only;
  const listed = catalogModels[upstreamKind]?.find(({ id }) => id === model)?.kind;
  if (listed !== undefined) return listed;
  if (knownEmbedding(model, upstreamKind) || /embed|(^|[-_/])(bge|e5|gte)-/i.test(model)) {
    return "embedding";
  }
  return only === undefined && imageNames.test(model) ? "image" : undefined;
}
