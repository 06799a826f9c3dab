/** Images that were requested and are not part of the response: how many, and why. */
import type { ErrorKind } from "../../contract/errors.ts";

export interface LostImages {
  readonly count: number;
  /** What it failed with. Undefined: there were fewer than the upstream was asked for. */
  readonly error: unknown;
  /** The upstream may have made them all the same, and no answer tells what that cost. */
  readonly unsure?: boolean;
}

/** What could not be had of pictures of which others could. */
export interface MissingImages {
  readonly count: number;
  readonly kind: ErrorKind;
  /** What the first of them failed with, where something failed. */
  readonly error?: unknown;
  /** All of them, by what they failed with. */
  readonly lost: readonly LostImages[];
}
