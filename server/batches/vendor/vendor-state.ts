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
  /** When it was uploaded, or the last attempt to create the batch began, in Unix milliseconds. */
  readonly at: number;
}

/** The batch is not created yet: the vendor has certainly no batch of this file. */
export interface Uploaded extends Sent {
  readonly kind: "uploaded";
}

/** The batch is about to be created, or may have been. It is looked up by its name. */
export interface Creating extends Sent {
  readonly kind: "creating";
}

export interface Created extends Sent {
  readonly kind: "created";
  /** The vendor's id. */
  readonly id: string;
  /** When its cancellation was requested. */
  readonly cancelledAt?: number;
  /** When a poll first showed that it has ended. Its lines are charged to that day. */
  readonly endedAt?: number;
  /** How often a process began to read its results and did not end. Absent: never. */
  readonly readings?: number;
  /** The vendor's ids of the files of results. Absent: the batch has not ended. */
  readonly resultFiles?: readonly string[];
}

export type VendorState =
  | Uploaded
  | Creating
  | Created
  /** The vendor refused the batch. */
  | { readonly kind: "refused"; readonly reason: string; readonly fileId?: string }
  /** The vendor runs nothing: all inputs are cached, or the job ended before the batch was created. */
  | { readonly kind: "unneeded"; readonly fileId?: string };

/** The files that are to be deleted at the vendor when the range has ended. */
export const filesOf = (state: VendorState): readonly string[] => [
  ...(state.fileId === undefined ? [] : [state.fileId]),
  ...(state.kind === "created" ? (state.resultFiles ?? []) : []),
];

export const readState = (text: string | null): VendorState | undefined =>
  text === null ? undefined : (JSON.parse(text) as VendorState);
