/**
 * Records the images that one target failed to generate: routing steps, missing images, and what may have been billed.
 */
import { toGatewayError } from "../request/error-response.ts";
import type { MissingGroup } from "../request/missing.ts";
import type { RequestRecord } from "../request/request-record.ts";
import { targetName } from "../request/target-name.ts";
import { errorCodeOf } from "../routing/retry-policy.ts";
import type { ImageEvent, Target } from "../upstream/contract.ts";
import { mayHaveBeenBilled } from "../upstream/may-have-been-billed.ts";
import { imagesIn } from "./fan-out.ts";
import { attributeMissing, countMissing, describeMissing, missingFrom } from "./missing-images.ts";

export interface TargetAttempt {
  readonly record: RequestRecord;
  readonly target: Target;
  readonly signal: AbortSignal;
  /** How many images are requested from the target. */
  readonly imageCount: number;
}

/** Whether an upstream request that ended with this error may have been billed. */
export const isBillingUncertain = (error: unknown, signal: AbortSignal): boolean =>
  mayHaveBeenBilled(1, toGatewayError(error, signal));

export class MissingRecorder {
  readonly #attempt: TargetAttempt;
  readonly #failures: MissingGroup[] = [];

  constructor(attempt: TargetAttempt) {
    this.#attempt = attempt;
    // An earlier target may have left missing images.
    attempt.record.images.missing = undefined;
  }

  /** One upstream request failed. */
  addFailure({ count, error }: MissingGroup): void {
    const { record, signal } = this.#attempt;
    const mayBeBilled = isBillingUncertain(error, signal);
    this.#failures.push({ count, error, mayBeBilled });
    if (mayBeBilled) record.images.possiblyBilled += count;
  }

  /** All upstream requests failed: the target failed with this error. */
  failAll(error: unknown): void {
    const { record, imageCount, signal } = this.#attempt;
    const descriptions = describeMissing(this.#failures, imageCount);
    if (descriptions.length > 1) this.#step(descriptions);
    this.#step([errorCodeOf(error)]);
    // Then the whole request is counted as possibly billed, not its parts.
    if (isBillingUncertain(error, signal)) {
      record.images.possiblyBilled -= countMissing(
        this.#failures.filter(({ mayBeBilled }) => mayBeBilled),
      );
    }
  }

  /** `delivered`: the number of delivered images. `error`: why others that arrived were not delivered. */
  settle(delivered: number, error: unknown): void {
    const { record, imageCount } = this.#attempt;
    const groups = attributeMissing(imageCount - delivered, this.#failures, error);
    record.images.missing = missingFrom(groups);
    this.#step(describeMissing(groups, imageCount));
  }

  /** Passes the events through, and records the missing images at their end. */
  async *watch(events: AsyncIterable<ImageEvent>): AsyncGenerator<ImageEvent> {
    let delivered = 0;
    try {
      for await (const event of events) {
        delivered += imagesIn(event);
        yield event;
      }
    } catch (error) {
      // The error of one upstream request says nothing about the images of the others.
      this.settle(delivered, this.#failures.length > 0 ? undefined : error);
      throw error;
    }
    this.settle(delivered, undefined);
  }

  #step(descriptions: readonly string[]): void {
    const { record, target } = this.#attempt;
    for (const each of descriptions) record.addStep(`${targetName(target)}: ${each}`);
  }
}
