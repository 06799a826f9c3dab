/** The price of a moderation model: as configured, or else as the vendor lists it. */
import type { Target } from "../../contract.ts";

/** Free of charge, by developers.openai.com/api/docs/guides/moderation. */
const freeAtOpenai = /^(omni|text)-moderation-/i;

/** US dollars for a million tokens. Undefined: not known. */
export function moderationPriceOf({ upstream, model, price }: Target): number | undefined {
  // The configured price overrides the vendor's list price.
  if (price) return price.tokens?.textIn;
  return upstream.kind === "openai" && freeAtOpenai.test(model) ? 0 : undefined;
}
