/** Every vendor and its adapter, by the name a configuration calls it. */
import type { Adapter } from "../adapter.ts";
import type { Vendor } from "../vendor.ts";
import { azure } from "./azure.ts";
import { dialects, fromDialect } from "./dialects.ts";

/** Those that speak as OpenAI does, pictures included. */
export const openaiShaped: readonly Vendor[] = [...dialects.map(fromDialect), azure];

/** Those with a language of their own. */
export const native: readonly Vendor[] = [];

export const vendors: readonly Vendor[] = [...openaiShaped, ...native];

export const adapters: ReadonlyMap<string, Adapter> = new Map(
  vendors.map(({ adapter }) => [adapter.name, adapter]),
);
