/** What the batches of vendors cost, as a part of the list price. */

/**
 * By the kind of the upstream. OpenAI and Gemini: half (platform.openai.com/docs/guides/batch,
 * ai.google.dev/gemini-api/docs/batch-api). Mistral: half (docs.mistral.ai/capabilities/batch). Voyage: "a 33%
 * discount" (docs.voyageai.com/docs/batch-inference). Read on 2026-11-18.
 */
const factors: ReadonlyMap<string, number> = new Map([
  ["openai", 0.5],
  ["gemini", 0.5],
  ["mistral", 0.5],
  ["voyage", 0.67],
]);

/** Undefined: the vendor has no batches, or none that the gateway uses. */
export const batchPriceFactor = (kind: string): number | undefined => factors.get(kind);
