/** The message that the gateway sends to the process of the drawing program. */
import type { SketchRequest } from "#sketch";

export interface SketchTask {
  readonly request: SketchRequest;
  /** The API key. Keys take turns. */
  readonly key: string;
}
