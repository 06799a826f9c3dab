/** The price of a model for the estimate: US dollars for a million tokens. */
import { knownEmbedding } from "../../server/upstream/catalog/index.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { configNamedBy, settingsOrUsage } from "../command.ts";

export interface ModelPrice {
  /** Undefined if not known. */
  readonly dollars: number | undefined;
  readonly isListed: boolean;
}

/** A gateway on this machine most likely has the configuration that this command finds. */
export async function priceOf(model: string, baseUrl: string): Promise<ModelPrice> {
  const targets = isThisMachine(baseUrl) ? await configuredTargets(model) : undefined;
  if (!targets) return listedPrice(model);
  const prices = targets.map(({ tokenPrice }) => tokenPrice);
  const known = prices.filter((price) => price !== undefined);
  return {
    dollars: known.length < prices.length ? undefined : Math.max(...known),
    isListed: targets.every(({ price }) => price === undefined),
  };
}

const isThisMachine = (baseUrl: string): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(baseUrl).hostname);

/** Undefined if the configuration has no such model, or cannot be loaded. It is the gateway that reports its errors. */
async function configuredTargets(model: string): Promise<readonly Target[] | undefined> {
  try {
    // Loaded here: another server needs nothing of it.
    const { loadConfig } = await import("../load-config.ts");
    const loaded = await loadConfig(settingsOrUsage(), configNamedBy("", undefined));
    return loaded.ok ? loaded.snapshot.models.get(model)?.targets : undefined;
  } catch {
    return undefined;
  }
}

/** The highest list price of the vendors that serve the model. */
function listedPrice(model: string): ModelPrice {
  const prices = Object.values(knownEmbedding(model)?.price ?? {});
  return { dollars: prices.length === 0 ? undefined : Math.max(...prices), isListed: true };
}
