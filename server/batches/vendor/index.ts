/** The vendors whose batches run the lines of a client's batch, by the kind of the upstream. */
import { batchPriceFactor } from "../../upstream/catalog/prices/batch-price.ts";
import type { Target } from "../../upstream/contract.ts";
import { gemini } from "./gemini.ts";
import { mistral } from "./mistral.ts";
import { openai } from "./openai.ts";
import type { VendorApi } from "./vendor-api.ts";
import { voyage } from "./voyage.ts";

const apis: ReadonlyMap<string, VendorApi> = new Map([
  ["openai", openai],
  ["gemini", gemini],
  ["mistral", mistral],
  ["voyage", voyage],
]);

export interface Vendor {
  readonly api: VendorApi;
  /** The part of the price of a request that a line costs. */
  readonly priceFactor: number;
}

/** Undefined: the upstream has no batches. */
export function vendorOf({ upstream }: Target): Vendor | undefined {
  const api = apis.get(upstream.kind);
  const priceFactor = batchPriceFactor(upstream.kind);
  return api && priceFactor !== undefined ? { api, priceFactor } : undefined;
}

const million = 1_000_000;

/** Null: the price is not known. */
export const dollarsOf = (
  tokens: number,
  { tokenPrice }: Target,
  priceFactor: number,
): number | null =>
  tokenPrice === undefined ? null : (tokens * tokenPrice * priceFactor) / million;

/** The target with the prices of the vendor's batch. */
export const withDiscount = ({ tokenPrice, ...target }: Target, priceFactor: number): Target => ({
  ...target,
  priceFactor,
  ...(tokenPrice !== undefined && { tokenPrice: tokenPrice * priceFactor }),
});
