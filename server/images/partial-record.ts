/**
 * Saves the record fields of a partial image response while another target generates the missing images, and merges
 * both afterwards.
 */
import type { ParametersRecord, RequestRecord } from "../request/request-record.ts";
import type { Target } from "../upstream/contract.ts";
import { isBillingUncertain } from "./record-missing.ts";

interface SavedFields {
  readonly cost: number | undefined;
  readonly earlierAttemptMayBeBilled: boolean;
  readonly usage: RequestRecord["usage"];
  readonly parameters: ParametersRecord;
  readonly target: Target | undefined;
}

/** The images that are requested from other targets. */
interface FollowUpImages {
  readonly count: number;
  /** How many of them may have been billed already. */
  readonly maybeBilled: number;
}

export class PartialRecord {
  readonly #record: RequestRecord;
  readonly #saved: SavedFields;
  readonly #followUp: FollowUpImages;
  readonly #attempts: number;

  constructor(record: RequestRecord, followUp: FollowUpImages) {
    this.#record = record;
    this.#saved = {
      cost: record.cost.actual,
      earlierAttemptMayBeBilled: record.cost.earlierAttemptMayBeBilled,
      usage: record.usage,
      parameters: { ...record.parameters },
      target: record.routing.target,
    };
    this.#followUp = followUp;
    this.#attempts = initialAttempts(record);
    record.cost.actual = undefined;
    record.cost.earlierAttemptMayBeBilled = false;
  }

  /** The follow-up returned images. */
  mergeSuccess(): void {
    const { cost, parameters } = this.#record;
    const saved = this.#saved;
    this.#addAttempts();
    cost.actual =
      saved.cost === undefined || cost.actual === undefined ? undefined : saved.cost + cost.actual;
    parameters.adapted = union(saved.parameters.adapted, parameters.adapted);
    parameters.dropped = union(saved.parameters.dropped, parameters.dropped);
  }

  /** The follow-up failed. */
  mergeFailure(error: unknown, signal: AbortSignal): void {
    const record = this.#record;
    const { cost, usage, parameters, target } = this.#saved;
    const newAttempts = this.#addAttempts();
    // Images that arrived and were unusable are billed too.
    const spent = record.cost.actual ?? 0;
    if (newAttempts > 0 && record.cost.actual === undefined && isBillingUncertain(error, signal)) {
      record.images.possiblyBilled += this.#followUp.count;
    }
    record.usage = usage;
    record.parameters.adapted = parameters.adapted;
    record.parameters.dropped = parameters.dropped;
    record.routing.target = target;
    record.cost.actual = cost === undefined ? undefined : cost + spent;
  }

  /** Attempts for the missing images are counted separately from attempts for the whole request. */
  #addAttempts(): number {
    const record = this.#record;
    const newAttempts = initialAttempts(record) - this.#attempts;
    const { count, maybeBilled } = this.#followUp;
    record.images.fillAttempts += newAttempts;
    if (newAttempts > 0) record.images.requestedAgain += maybeBilled;
    if (record.cost.earlierAttemptMayBeBilled && newAttempts > 1) {
      record.images.possiblyBilled += (newAttempts - 1) * count;
      record.images.requestedAgain += (newAttempts - 1) * count;
    }
    record.cost.earlierAttemptMayBeBilled = this.#saved.earlierAttemptMayBeBilled;
    return newAttempts;
  }
}

const initialAttempts = ({ routing, images }: RequestRecord): number =>
  routing.attempts - images.fillAttempts;

const union = (
  before: readonly string[] | undefined,
  next: readonly string[] | undefined,
): readonly string[] => [...new Set([...(before ?? []), ...(next ?? [])])];
