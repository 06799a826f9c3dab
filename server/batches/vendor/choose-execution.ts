/**
 * The vendors whose batches run the lines of a client's batch, by the kind of the upstream. Decides whether the lines
 * run now, or in a batch of a vendor, and what both cost.
 */

import type { Model } from "../../config/snapshot.ts";
import { generatesImages } from "../../request/operation.ts";
import type { NewRange } from "../../storage/sql/stored-job.ts";
import { batchPriceFactor } from "../../upstream/catalog/prices/batch-price.ts";
import type { Target } from "../../upstream/contract.ts";
import type { BatchExecution, BatchOperation, EstimatedCost } from "../batches.ts";
import { gemini } from "./gemini.ts";
import { mistral, openai, voyage } from "./openai.ts";
import type { VendorApi, VendorLimits } from "./vendor-api.ts";

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

/** Undefined if the upstream has no batches. */
export function vendorOf({ upstream }: Target): Vendor | undefined {
  const api = apis.get(upstream.kind);
  const priceFactor = batchPriceFactor(upstream.kind);
  return api && priceFactor !== undefined ? { api, priceFactor } : undefined;
}

/** The target with the prices of the vendor's batch. */
export const withDiscount = ({ tokenPrice, ...target }: Target, priceFactor: number): Target => ({
  ...target,
  priceFactor,
  ...(tokenPrice !== undefined && { tokenPrice: tokenPrice * priceFactor }),
});

interface ExecutionQuestion {
  /** What the client requested. Undefined if the model decides. */
  readonly requested: BatchExecution | undefined;
  readonly operation: BatchOperation;
  /** The model of all lines. Undefined if there are several. */
  readonly model: Model | undefined;
  /** Estimated, of all lines of embeddings. */
  readonly tokens: number;
  /** The estimated cost of all lines of images now, in US dollars. Null if unknown. */
  readonly imageDollars: number | null;
  /** Whether requests to the target run in batches of its vendor. */
  readonly isSupported: (vendor: Vendor, target: Target) => boolean;
}

type Execution =
  | { readonly execution: "now"; readonly estimate: EstimatedCost }
  | {
      readonly execution: "vendor" | "cheapest";
      readonly target: Target;
      readonly limits: VendorLimits;
      readonly estimate: EstimatedCost;
    }
  /** The client, or the model, requires a batch of the vendor, and there is none. */
  | { readonly refusal: string };

export function chooseExecution(question: ExecutionQuestion): Execution {
  const { requested, model, operation } = question;
  const execution = requested ?? model?.batches ?? "now";
  const found = findTarget(question);
  const nowPrice = lowest(model?.targets.map(({ tokenPrice }) => tokenPrice) ?? []);
  const estimate =
    operation === "embeddings"
      ? estimateEmbeddings(question, nowPrice, found)
      : estimateImages(question, found);
  if (execution === "now") return { execution, estimate };
  if ("reason" in found)
    return execution === "vendor" ? { refusal: found.reason } : { execution: "now", estimate };
  const price = batchPrice(found);
  // A target that is cheaper now than another one is in a batch.
  const isDearer = price !== undefined && nowPrice !== undefined && price >= nowPrice;
  if (execution === "cheapest" && isDearer) return { execution: "now", estimate };
  const { target, api } = found;
  const limits = (generatesImages(operation) && api.imageLimits) || api.limits;
  return { execution, estimate, target, limits };
}

const estimateEmbeddings = (
  { tokens }: ExecutionQuestion,
  nowPrice: number | undefined,
  found: Found,
): EstimatedCost => ({
  now: dollarsOf(tokens, nowPrice),
  vendor: "target" in found ? dollarsOf(tokens, batchPrice(found)) : null,
});

const estimateImages = ({ imageDollars }: ExecutionQuestion, found: Found): EstimatedCost => ({
  now: imageDollars,
  vendor: "target" in found && imageDollars !== null ? imageDollars * found.priceFactor : null,
});

type FoundTarget = Vendor & { readonly target: Target };
type Found = FoundTarget | { readonly reason: string };

/** The target with batches whose price is the lowest. */
function findTarget({ operation, model, isSupported }: ExecutionQuestion): Found {
  if (operation === "edits") return { reason: "batches of vendors run no edits" };
  if (!model) return { reason: "the lines have several models" };
  if (model.moderation) return { reason: "the prompts of the model are moderated first" };
  const candidates = model.targets.flatMap((target): FoundTarget[] => {
    const vendor = vendorOf(target);
    return vendor && isSupported(vendor, target) ? [{ ...vendor, target }] : [];
  });
  const [first, ...others] = candidates;
  if (!first) return { reason: "no upstream of the model has batches" };
  return others.reduce(
    (best, other) => (comparable(other) < comparable(best) ? other : best),
    first,
  );
}

/** A target without a known price is never the cheapest. */
const comparable = (target: FoundTarget): number => batchPrice(target) ?? Number.POSITIVE_INFINITY;

const batchPrice = ({
  target: { tokenPrice },
  priceFactor,
}: Pick<FoundTarget, "target" | "priceFactor">): number | undefined =>
  tokenPrice === undefined ? undefined : tokenPrice * priceFactor;

const lowest = (prices: readonly (number | undefined)[]): number | undefined =>
  prices.includes(undefined) || prices.length === 0 ? undefined : Math.min(...(prices as number[]));

/** `price`: of a million tokens. Null if unknown. */
const dollarsOf = (tokens: number, price: number | undefined): number | null =>
  price === undefined ? null : (tokens * price) / 1_000_000;

/** A range with its size. */
export interface SizedRange extends NewRange {
  readonly bytes: number;
  readonly inputs: number;
}

/** Joins consecutive ranges, each of which becomes one batch of the vendor. */
export function joinRanges(ranges: readonly SizedRange[], max: VendorLimits): SizedRange[] {
  const joined: SizedRange[] = [];
  for (const range of ranges) {
    const last = joined.at(-1);
    const sum = last && {
      ...last,
      lines: last.lines + range.lines,
      bytes: last.bytes + range.bytes,
      inputs: last.inputs + range.inputs,
    };
    const fits =
      sum && sum.lines <= max.lines && sum.bytes <= max.bytes * margin && sum.inputs <= max.inputs;
    if (fits) joined[joined.length - 1] = sum;
    else joined.push(range);
  }
  return joined;
}

/** The lines of the vendor's input file may be longer than those of the client's. */
const margin = 0.7;
