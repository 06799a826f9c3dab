/** Catalog facts of one image model, independent of the upstream that serves it. */
import type { ImageCapabilities } from "../../image-capabilities.ts";

export interface KnownImage {
  readonly name: string;
  /** Other names of the same. */
  readonly also?: readonly string[];
  readonly capabilities: ImageCapabilities;
  /** Where an edit differs. */
  readonly editing?: Partial<ImageCapabilities>;
}
