/** What a range of lines stores about the vendor's batch that runs them, in the column `vendor_batch`. */
import type { JsonObject } from "./vendor-api.ts";

/** A batch whose input file is at the vendor. */
export interface Sent {
  /** The name by which the batch is found at the vendor. */
  readonly name: string;
  /** The vendor's id of the input file. */
  readonly fileId: string;
  /** What all of its requests share. */
  readonly shared: JsonObject;
  /** When it was created first, in Unix milliseconds. */
  readonly at: number;
  /** Lines of the job that are not part of the vendor's batch, because they are cached or invalid. */
  readonly skipped: readonly number[];
  /** The estimated cost in US dollars. Null: unknown. */
  readonly dollars: number | null;
}

/** The batch is about to be created. After a crash, it is looked up by its name. */
export interface Creating extends Sent {
  readonly kind: "creating";
}

export interface Created extends Sent {
  readonly kind: "created";
  /** The vendor's id. */
  readonly id: string;
  /** When its cancellation was requested. */
  readonly cancelledAt?: number;
  /** How often a process began to read its results and did not end. Absent: never. */
  readonly readings?: number;
}

export type VendorState =
  | Creating
  | Created
  /** The vendor refused the batch. */
  | { readonly kind: "refused"; readonly reason: string }
  /** Nothing is at the vendor: all inputs are cached, or the job ended before the batch was created. */
  | { readonly kind: "unneeded" };

export const readState = (text: string | null): VendorState | undefined =>
  text === null ? undefined : (JSON.parse(text) as VendorState);
