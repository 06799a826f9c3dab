/** What the batches of vendors cost, as a part of the list price. */

/**
 * By the kind of the upstream. OpenAI: half (platform.openai.com/docs/guides/batch). Gemini: half, also of embeddings
 * (developers.googleblog.com, gemini-batch-api-now-supports-embeddings, 2025-09-10). Voyage: "a 33% discount"
 * (docs.voyageai.com/docs/batch-inference). Mistral: half, by summaries of its prices; its own page was not read.
 */
const factors: ReadonlyMap<string, number> = new Map([
  ["openai", 0.5],
  ["gemini", 0.5],
  ["mistral", 0.5],
  ["voyage", 0.67],
]);

/** Undefined if the vendor has no batches, or none that the gateway uses. */
export const batchPriceFactor = (kind: string): number | undefined => factors.get(kind);
