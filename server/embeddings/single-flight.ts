/** What is being asked upstream at this moment, so that nobody asks for the same again but waits for it. */

import { AbortSource } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StageRequest } from "../request/stage.ts";
import type { EmbeddingsQuery } from "../upstream/contract.ts";
import type { CachedEmbedding } from "./cache/embedding-cache.ts";
import { detachVector } from "./vector-formats.ts";

type EmbeddingsCall = StageRequest<EmbeddingsQuery>;

/**
 * A question of more inputs is called off with its caller, though others wait for some of them: most of what it costs
 * would be for nobody.
 */
const maxKeptOn = 64;

/** One question on its way, by the call that asks it. */
export class InFlightQuery {
  readonly #asking: EmbeddingsCall;
  readonly #inputs: number;
  #waiting: Set<() => void> | undefined;
  /** Made for the first who waits: most questions have none. */
  #goesOn: ((reason: unknown) => boolean) | undefined;
  /** Its caller has hung up, and it goes on for those who wait. */
  #goneWith: GatewayError | undefined;
  #found: Map<string, CachedEmbedding> | undefined;
  #failure: { readonly error: unknown; readonly wasAbandoned: boolean } | undefined;

  constructor(asking: EmbeddingsCall, inputs: number) {
    this.#asking = asking;
    this.#inputs = inputs;
  }

  /** Its caller has gone or is out of time, so nothing will come of it. */
  get isAborted(): boolean {
    return this.#asking.signal.aborted;
  }

  /** The end was its own caller's, and says nothing about the question. */
  get abandoned(): boolean {
    return this.#failure?.wasAbandoned === true;
  }

  get error(): unknown {
    return this.#failure?.error;
  }

  result(key: string): CachedEmbedding | undefined {
    return this.#found?.get(key);
  }

  addResult(key: string, known: CachedEmbedding): void {
    if (this.#waiting === undefined || this.#waiting.size === 0) return;
    this.#found ??= new Map();
    // Whoever waits may look at it when the answer that it lies in has left already.
    this.#found.set(key, { ...known, vector: detachVector(known.vector) });
  }

  fail(error: unknown): void {
    this.#failure = { error, wasAbandoned: isHangUp(error) || this.isAborted };
  }

  /** From now on a caller who hangs up does not end it: what is asked already need not be paid for twice. */
  addWaiter(settle: () => void): void {
    this.#waiting ??= new Set();
    this.#waiting.add(settle);
    const { signal } = this.#asking;
    if (this.#inputs > maxKeptOn || !(signal instanceof AbortSource)) return;
    this.#goesOn ??= (reason) => {
      // Its time is its own: whoever waits longer asks anew.
      if (!isHangUp(reason)) return false;
      this.#goneWith = reason;
      return true;
    };
    signal.deferAbort = this.#goesOn;
  }

  removeWaiter(landed: () => void): void {
    this.#waiting?.delete(landed);
    if (this.#waiting?.size === 0) this.#letGo();
  }

  landed(): void {
    if (this.#waiting === undefined) return;
    for (const landed of this.#waiting) landed();
    this.#waiting.clear();
    this.#letGo();
  }

  #letGo(): void {
    const { signal } = this.#asking;
    if (!(signal instanceof AbortSource) || !this.#goesOn || signal.deferAbort !== this.#goesOn)
      return;
    signal.deferAbort = undefined;
    if (this.#goneWith) signal.abort(this.#goneWith);
  }

  /**
   * Would the other call have failed in the same way? When its own upstream is in trouble, yes. A refusal may be about
   * an input that only this call has, its `user`, or its key: it counts for the very same question of the same key.
   */
  alsoFails(other: EmbeddingsCall): boolean {
    if (this.#failure === undefined || this.#failure.wasAbandoned) return false;
    const { route, query, record } = this.#asking;
    if (route !== other.route) return false;
    if (isTrouble(this.#failure.error)) return true;
    return (
      this.#inputs === 1 &&
      query.user === other.query.user &&
      query.encoding === other.query.encoding &&
      record.caller?.id === other.record.caller?.id
    );
  }
}

const isHangUp = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.kind === "client_closed";

function isTrouble(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { causedBy, retry } = error.definition;
  return causedBy === "upstream" && retry !== "never";
}

/** As many as there are inputs of calls in hand, which are bounded. */
export class SingleFlight {
  readonly #flights = new Map<string, InFlightQuery>();

  get size(): number {
    return this.#flights.size;
  }

  /** Undefined where waiting would be in vain. */
  find(key: string): InFlightQuery | undefined {
    const flight = this.#flights.get(key);
    return flight?.isAborted ? undefined : flight;
  }

  start(asking: EmbeddingsCall, keys: readonly string[]): InFlightQuery {
    const flight = new InFlightQuery(asking, keys.length);
    for (const key of keys) if (!this.find(key)) this.#flights.set(key, flight);
    return flight;
  }

  end(flight: InFlightQuery, keys: readonly string[]): void {
    // Another may have taken the place of one that was doomed.
    for (const key of keys) if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.landed();
  }
}

/** Until all have landed, or one of them with a fault for us too, or our own caller is gone. Never rejects. */
export function waitForInFlight(
  flights: ReadonlySet<InFlightQuery>,
  call: EmbeddingsCall,
): Promise<void> {
  const { signal } = call;
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) {
    resolve();
    return promise;
  }
  const flying = new Map<InFlightQuery, () => void>();
  const leave = (): void => {
    signal.removeEventListener("abort", leave);
    for (const [flight, landed] of flying) flight.removeWaiter(landed);
    flying.clear();
    resolve();
  };
  signal.addEventListener("abort", leave);
  for (const flight of flights) {
    const landed = (): void => {
      flying.delete(flight);
      if (flying.size === 0 || flight.alsoFails(call)) leave();
    };
    flying.set(flight, landed);
    flight.addWaiter(landed);
  }
  return promise;
}
