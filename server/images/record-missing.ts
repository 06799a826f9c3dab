/** What one target was asked for and did not make, in the account of the call: its steps, and what may have been paid for. */
import type { Signal } from "../lib/signal.ts";
import { toFault } from "../request/error-response.ts";
import type { Lost } from "../request/missing.ts";
import type { Trip } from "../request/request-record.ts";
import { errorCodeOf } from "../routing/retry-policy.ts";
import { nameOf } from "../routing/routing-steps.ts";
import type { ImageEvent, Target } from "../upstream/contract.ts";
import { mayHaveBeenBilled } from "../upstream/may-have-been-billed.ts";
import { imagesIn } from "./fan-out.ts";
import { attributeMissing, countMissing, describeMissing, missingFrom } from "./missing-images.ts";

export interface TargetAttempt {
  readonly trip: Trip;
  readonly target: Target;
  readonly signal: Signal;
  /** How many pictures the target is asked for. */
  readonly imageCount: number;
}

/** Of a question to an upstream that ended so. */
export const isBillingUncertain = (error: unknown, signal: Signal): boolean =>
  mayHaveBeenBilled(1, toFault(error, signal));

export class MissingRecorder {
  readonly #attempt: TargetAttempt;
  readonly #failures: Lost[] = [];

  constructor(drawn: TargetAttempt) {
    this.#attempt = drawn;
    // An earlier target may have had one.
    drawn.trip.missing = undefined;
  }

  /** One of its calls failed. */
  addFailure({ count, error }: Lost): void {
    const { trip, signal } = this.#attempt;
    const unsure = isBillingUncertain(error, signal);
    this.#failures.push({ count, error, unsure });
    if (unsure) trip.unanswered += count;
  }

  /** All of them did, and the target with this. */
  failAll(error: unknown): void {
    const { trip, imageCount: asked, signal } = this.#attempt;
    const words = describeMissing(this.#failures, asked);
    if (words.length > 1) this.#step(words);
    this.#step([errorCodeOf(error)]);
    // The whole of it is in doubt then, and not only some.
    if (isBillingUncertain(error, signal)) {
      trip.unanswered -= countMissing(this.#failures.filter(({ unsure }) => unsure));
    }
  }

  /** So many are there. `error`: what became of those that came and are not. */
  settle(came: number, error: unknown): void {
    const { trip, imageCount: asked } = this.#attempt;
    const lost = attributeMissing(asked - came, this.#failures, error);
    trip.missing = missingFrom(lost);
    this.#step(describeMissing(lost, asked));
  }

  /** The same events. At their end it is known what is missing. */
  async *watch(events: AsyncIterable<ImageEvent>): AsyncGenerator<ImageEvent> {
    let came = 0;
    try {
      for await (const event of events) {
        came += imagesIn(event);
        yield event;
      }
    } catch (error) {
      // What a call failed with says nothing about what came of the others.
      this.settle(came, this.#failures.length > 0 ? undefined : error);
      throw error;
    }
    this.settle(came, undefined);
  }

  #step(words: readonly string[]): void {
    const { trip, target } = this.#attempt;
    for (const each of words) trip.step(`${nameOf(target)}: ${each}`);
  }
}
