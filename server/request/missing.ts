/** Images that were requested and are not part of the response: how many, and why. */
import type { ErrorKind } from "../../contract/errors.ts";

export interface MissingGroup {
  readonly count: number;
  /** Why they failed. Undefined: the upstream returned fewer images than requested. */
  readonly error: unknown;
  /** The upstream may have generated them, but no response reports their cost. */
  readonly mayBeBilled?: boolean;
}

/** Images that could not be generated, while others of the same request could. */
export interface MissingImages {
  readonly count: number;
  readonly kind: ErrorKind;
  /** The error of the first missing image, if there was one. */
  readonly error?: unknown;
  /** All missing images, grouped by error. */
  readonly groups: readonly MissingGroup[];
}
