/** What is known of one image model, the same wherever it is served. */
import type { ImageCapabilities } from "../../image-capabilities.ts";

export interface KnownImage {
  readonly name: string;
  /** Other names of the same. */
  readonly also?: readonly string[];
  readonly traits: ImageCapabilities;
  /** Where an edit differs. */
  readonly editing?: Partial<ImageCapabilities>;
}
