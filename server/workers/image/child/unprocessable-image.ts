/** A picture that cannot be worked on, inside the darkroom's process. Whose fault that is, the gateway knows. */
import type { Obstacle } from "../protocol.ts";

export class ObstacleError extends Error {
  override readonly name = "ObstacleError";
  readonly why: Obstacle;

  /** `words`: what is wrong with the picture, to be read after "the picture". */
  constructor(why: Obstacle, words: string, cause?: unknown) {
    super(words, { cause });
    this.why = why;
  }
}
