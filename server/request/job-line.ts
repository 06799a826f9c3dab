/** What the pipeline needs to know of a request that is a line of a job. */
import type { Target } from "../upstream/contract.ts";
import type { SendRecord } from "../upstream/poll-job.ts";
import type { Reservation } from "./reservation.ts";

export interface JobLineContext extends SendRecord {
  readonly priority: "interactive" | "batch";
  /** The budget that was reserved when the job was submitted. Undefined: it is reserved before the line is sent. */
  readonly reservation: Reservation | undefined;
  /** At the end of the request. US dollars; undefined: unknown. */
  addCost(dollars: number | undefined): void;
  /** The targets that may serve the line: a line that is resumed has one. */
  permitted<C extends { readonly target: Target }>(candidates: readonly C[]): readonly C[];
}
