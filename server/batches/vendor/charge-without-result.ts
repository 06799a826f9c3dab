/**
 * Charges a line without a result that the vendor may bill. Its ledger row has the estimate, and the id and time that
 * the row of a result would have: a second charge of the line writes the same row. No stage of the pipeline runs,
 * because the model, the upstream and the API key may be deleted.
 */
import { jobLineId } from "../../../contract/job-line-id.ts";
import { itemsOf } from "../../embeddings/split.ts";
import type { GatewayError } from "../../lib/gateway-error.ts";
import { toDollars } from "../../lib/nano-dollars.ts";
import type { Caller } from "../../request/caller.ts";
import { RequestRecord } from "../../request/request-record.ts";
import type { LedgerRow } from "../../storage/ports/ledger-row.ts";
import type { StoredJob } from "../../storage/sql/stored-job.ts";
import type { EmbeddingsQuery, Target } from "../../upstream/contract.ts";
import { batchDataOf } from "../batches.ts";
import type { SentLine, SentTo } from "./sent-requests.ts";

interface LineWithoutResult {
  readonly job: StoredJob;
  /** When the vendor's batch ended, or was given up, in Unix milliseconds. */
  readonly at: number;
  readonly sent: SentLine;
  readonly sentTo: Pick<SentTo, "target">;
  readonly error: GatewayError;
}

/** Rejects with GatewayError if the row cannot be written. */
export type ChargeWithoutResult = (line: LineWithoutResult) => Promise<void>;

interface ChargeWithoutResultOptions {
  readonly ledger: { admit(): void; settle(row: LedgerRow): Promise<unknown> };
  readonly payerOf: (job: StoredJob) => Caller;
  /** The id of this process. */
  readonly replica: string;
}

export const createChargeWithoutResult =
  ({ ledger, payerOf, replica }: ChargeWithoutResultOptions): ChargeWithoutResult =>
  async ({ job, at, sent, sentTo, error }) => {
    ledger.admit();
    const { number, requests, nanos, labels, endUser = null, tags = null } = sent;
    const { operation, model, vendorTarget } = batchDataOf(job);
    const requestId = jobLineId({ job: job.id, first: number, last: number, attempt: undefined });
    const record = new RequestRecord(requestId, operation, at);
    record.replica = replica;
    record.model = model;
    record.endUser = endUser;
    record.tags = tags;
    // The ledger row needs only the upstream's id. The upstream may be deleted.
    const upstream = { id: vendorTarget?.upstream ?? "" } as Target["upstream"];
    const target = { ...sentTo.target, upstream };
    record.startAttempt({ target, startedAt: undefined });
    record.addStep("vendor_batch");
    if (operation === "embeddings") {
      const inputs = requests.map(({ query }) => itemsOf((query as EmbeddingsQuery).input));
      record.embeddings.inputs = inputs.reduce((sum, count) => sum + count, 0);
      record.addSentInputs(record.embeddings.inputs);
    }
    const estimate = nanos === null ? undefined : toDollars(nanos);
    record.addCharge({ target, billed: "maybe", cost: undefined, estimate });
    record.end(error.definition.status, error, 0, 0);
    await ledger.settle({ ...record.ledgerRow(payerOf(job)), budgets: labels });
  };
