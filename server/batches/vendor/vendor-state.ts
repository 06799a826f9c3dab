/** What a range of lines stores about the vendor's batch that runs them, in the column `vendor_batch`. */

interface TargetName {
  /** The id of the upstream, and its own name for the model. */
  readonly upstream: string;
  readonly model: string;
}

export type VendorState =
  /** The batch is about to be created. After a crash, it is looked up by its name. */
  | (TargetName & { readonly kind: "creating"; readonly name: string; readonly at: number } & Sent)
  | (TargetName & {
      readonly kind: "created";
      /** The vendor's id. */
      readonly id: string;
      readonly at: number;
      /** When its cancellation was requested. */
      readonly cancelledAt?: number;
    } & Sent)
  /** The vendor refused the batch, or it failed as a whole. */
  | { readonly kind: "refused"; readonly reason: string }
  /** All inputs are cached: there is nothing to send. */
  | { readonly kind: "unneeded" };

interface Sent {
  /** Lines of the job that are not part of the vendor's batch, because they are cached or invalid. */
  readonly skipped: readonly number[];
  /** The estimated cost in US dollars. Null: unknown. */
  readonly dollars: number | null;
}

export const readState = (text: string | null): VendorState | undefined =>
  text === null ? undefined : (JSON.parse(text) as VendorState);
