/** A vendor: its settings in a configuration, and its adapter. Each is a file or a folder of adapters/. */
import type { z } from "zod";
import type { Adapter } from "./adapter.ts";

export interface Kind {
  readonly name: string;
  /** The default if the configuration has none. */
  readonly baseUrl?: string;
  readonly needs: readonly string[];
  /** At least one of these sets of settings must be complete. */
  readonly needsOneOf?: readonly (readonly string[])[];
  /** The only kind of model it serves. Absent: not restricted, and the upstream decides. */
  readonly serves?: "embedding" | "image";
  /** Settings of this kind only, by name. */
  readonly options: Readonly<Record<string, z.ZodType>>;
}

export interface Vendor {
  readonly kind: Kind;
  readonly adapter: Adapter;
}
