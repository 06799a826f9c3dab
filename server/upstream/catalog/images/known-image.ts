/** What is known of one image model, the same wherever it is served. */
import type { ImageTraits } from "../../image-capabilities.ts";

export interface KnownImage {
  readonly name: string;
  /** Other names of the same. */
  readonly also?: readonly string[];
  readonly traits: ImageTraits;
  /** Where an edit differs. */
  readonly editing?: Partial<ImageTraits>;
}
