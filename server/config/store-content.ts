/** `storeContent` of a model: whether, and for how long (retention), prompts, inputs, vectors and images are stored. */
import type { z } from "zod";
import { durationMs, storeContent } from "../../contract/schemas/models.ts";

export const storeContentKeys: readonly string[] = Object.keys(storeContent.shape);

/** Without `storeContent`, the member is absent. */
export const storedContentOf = (
  given: z.output<typeof storeContent> | undefined,
): { readonly storeContentMs?: number } => (given ? { storeContentMs: durationMs(given.for) } : {});
