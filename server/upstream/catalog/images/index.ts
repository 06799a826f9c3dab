/** The catalog of image models, by name. For a model that is not listed, the upstream decides what it supports. */
import { type ImageCapabilities, unrestrictedImages } from "../../image-capabilities.ts";
import type { KnownImage } from "./known-image.ts";
import { laterGpt, openaiImageModels } from "./openai.ts";

export const knownImages: readonly KnownImage[] = [...openaiImageModels];

const imagesByName = new Map(
  knownImages.flatMap((row) =>
    [row.name, ...(row.also ?? [])].map((name): [string, KnownImage] => [name, row]),
  ),
);

/** The capabilities of an OpenAI model, by OpenAI's name for it. */
export function openaiImageCapabilities(
  model: string,
  operation?: "generations" | "edits",
): ImageCapabilities {
  const known = imagesByName.get(model.toLowerCase());
  if (!known) return /^(chat)?gpt-?image/i.test(model) ? laterGpt : unrestrictedImages;
  if (operation !== "generations")
    return { ...known.capabilities, ...known.editing, verbatim: true };
  // Input fidelity is meaningless without an input image.
  const { input_fidelity: _, ...takes } = known.capabilities.takes;
  const { input_fidelity: __, ...undocumentedOptions } =
    known.capabilities.undocumentedOptions ?? {};
  return { ...known.capabilities, takes, undocumentedOptions, verbatim: true };
}
