/** Catalog facts of one image model, independent of the upstream that serves it. */
import type { ImageCapabilities } from "../../image-capabilities.ts";

export interface KnownImage {
  readonly name: string;
  /** Other names of the same model. */
  readonly also?: readonly string[];
  readonly capabilities: ImageCapabilities;
  /** Capabilities of edits that differ from those of generations. */
  readonly editing?: Partial<ImageCapabilities>;
}
