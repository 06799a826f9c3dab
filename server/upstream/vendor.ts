/** A vendor: its settings in a configuration, and its adapter. Each is a file or a folder of adapters/. */
import type { z } from "zod";
import type { Adapter } from "./adapter.ts";

export interface Kind {
  readonly name: string;
  /** Used when the configuration gives none. */
  readonly baseUrl?: string;
  readonly needs: readonly string[];
  /** One of these sets must be there whole. */
  readonly needsOneOf?: readonly (readonly string[])[];
  /** The only kind of model it can serve; absent where the upstream answers for itself. */
  readonly serves?: "embedding" | "image";
  /** Settings only this kind has, by name. */
  readonly options: Readonly<Record<string, z.ZodType>>;
}

export interface Vendor {
  readonly kind: Kind;
  readonly adapter: Adapter;
}
