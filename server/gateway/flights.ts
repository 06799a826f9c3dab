/** What is being asked upstream at this moment, so that nobody asks for the same again but waits for it. */
import { GatewayError } from "../std/gateway-error.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";
import type { Call } from "./stages/stage.ts";
import type { Known } from "./vector-memory.ts";

type EmbeddingsCall = Call<EmbeddingsQuery>;

/** One question on its way, by the call that asks it. */
export class Flight {
  readonly #asking: EmbeddingsCall;
  readonly #inputs: number;
  #waiting: (() => void)[] | undefined;
  #found: Map<string, Known> | undefined;
  #failure: { readonly error: unknown; readonly abandoned: boolean } | undefined;

  constructor(asking: EmbeddingsCall, inputs: number) {
    this.#asking = asking;
    this.#inputs = inputs;
  }

  /** Its caller has gone or is out of time, so nothing will come of it. */
  get doomed(): boolean {
    return this.#asking.signal.aborted;
  }

  /** The end was its own caller's, and says nothing about the question. */
  get abandoned(): boolean {
    return this.#failure?.abandoned === true;
  }

  get error(): unknown {
    return this.#failure?.error;
  }

  find(key: string): Known | undefined {
    return this.#found?.get(key);
  }

  found(key: string, known: Known): void {
    if (this.#waiting === undefined) return;
    this.#found ??= new Map();
    this.#found.set(key, known);
  }

  failed(error: unknown): void {
    const gone = error instanceof GatewayError && error.fault === "client_closed";
    this.#failure = { error, abandoned: gone || this.doomed };
  }

  wait(landed: () => void): void {
    this.#waiting ??= [];
    this.#waiting.push(landed);
  }

  landed(): void {
    for (const landed of this.#waiting ?? []) landed();
  }

  /**
   * Would the other call have failed in the same way? When its own upstream is in trouble, yes. A refusal may be about
   * an input that only this call has, its `user`, or its key: it counts for the very same question of the same key.
   */
  failsToo(other: EmbeddingsCall): boolean {
    if (this.#failure === undefined || this.#failure.abandoned) return false;
    const { route, query, trip } = this.#asking;
    if (route !== other.route) return false;
    if (isTrouble(this.#failure.error)) return true;
    return (
      this.#inputs === 1 &&
      query.user === other.query.user &&
      query.encoding === other.query.encoding &&
      trip.caller?.id === other.trip.caller?.id
    );
  }
}

function isTrouble(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { blame, retry } = error.row;
  return blame === "upstream" && retry !== "never";
}

/** As many as there are inputs of calls in hand, which are bounded. */
export class Flights {
  readonly #flights = new Map<string, Flight>();

  get size(): number {
    return this.#flights.size;
  }

  /** Undefined where waiting would be in vain. */
  of(key: string): Flight | undefined {
    const flight = this.#flights.get(key);
    return flight?.doomed ? undefined : flight;
  }

  begin(asking: EmbeddingsCall, keys: readonly string[]): Flight {
    const flight = new Flight(asking, keys.length);
    for (const key of keys) if (!this.of(key)) this.#flights.set(key, flight);
    return flight;
  }

  end(flight: Flight, keys: readonly string[]): void {
    // Another may have taken the place of one that was doomed.
    for (const key of keys) if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.landed();
  }
}

/** Until all have landed, or one of them with a fault for us too, or our own caller is gone. Never rejects. */
export function untilLanded(flights: ReadonlySet<Flight>, call: EmbeddingsCall): Promise<void> {
  const { signal } = call;
  const { promise, resolve } = Promise.withResolvers<void>();
  const leave = (): void => {
    signal.removeEventListener("abort", leave);
    resolve();
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave);
  let left = flights.size;
  for (const flight of flights) {
    flight.wait(() => {
      left--;
      if (left === 0 || flight.failsToo(call)) leave();
    });
  }
  return promise;
}
