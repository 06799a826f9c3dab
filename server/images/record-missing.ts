/** What one target was asked for and did not make, in the account of the call: its steps, and what may have been paid for. */
import type { Signal } from "../lib/signal.ts";
import { toFault } from "../request/error-response.ts";
import type { Lost } from "../request/missing.ts";
import type { Trip } from "../request/request-record.ts";
import { errorCodeOf } from "../routing/retry-policy.ts";
import { nameOf } from "../routing/routing-steps.ts";
import type { ImageEvent, Target } from "../upstream/contract.ts";
import { mayHaveBeenPaid } from "../upstream/may-have-been-billed.ts";
import { picturesIn } from "./fan-out.ts";
import { countOf, lostOf, missingOf, wordsOf } from "./missing-images.ts";

export interface Drawn {
  readonly trip: Trip;
  readonly target: Target;
  readonly signal: Signal;
  /** How many pictures the target is asked for. */
  readonly asked: number;
}

/** Of a question to an upstream that ended so. */
export const isUnsure = (error: unknown, signal: Signal): boolean =>
  mayHaveBeenPaid(1, toFault(error, signal));

export class Shortage {
  readonly #drawn: Drawn;
  readonly #calls: Lost[] = [];

  constructor(drawn: Drawn) {
    this.#drawn = drawn;
    // An earlier target may have had one.
    drawn.trip.missing = undefined;
  }

  /** One of its calls failed. */
  add({ count, error }: Lost): void {
    const { trip, signal } = this.#drawn;
    const unsure = isUnsure(error, signal);
    this.#calls.push({ count, error, unsure });
    if (unsure) trip.unanswered += count;
  }

  /** All of them did, and the target with this. */
  all(error: unknown): void {
    const { trip, asked, signal } = this.#drawn;
    const words = wordsOf(this.#calls, asked);
    if (words.length > 1) this.#step(words);
    this.#step([errorCodeOf(error)]);
    // The whole of it is in doubt then, and not only some.
    if (isUnsure(error, signal)) {
      trip.unanswered -= countOf(this.#calls.filter(({ unsure }) => unsure));
    }
  }

  /** So many are there. `error`: what became of those that came and are not. */
  settle(came: number, error: unknown): void {
    const { trip, asked } = this.#drawn;
    const lost = lostOf(asked - came, this.#calls, error);
    trip.missing = missingOf(lost);
    this.#step(wordsOf(lost, asked));
  }

  /** The same events. At their end it is known what is missing. */
  async *watch(events: AsyncIterable<ImageEvent>): AsyncGenerator<ImageEvent> {
    let came = 0;
    try {
      for await (const event of events) {
        came += picturesIn(event);
        yield event;
      }
    } catch (error) {
      // What a call failed with says nothing about what came of the others.
      this.settle(came, this.#calls.length > 0 ? undefined : error);
      throw error;
    }
    this.settle(came, undefined);
  }

  #step(words: readonly string[]): void {
    const { trip, target } = this.#drawn;
    for (const each of words) trip.step(`${nameOf(target)}: ${each}`);
  }
}
