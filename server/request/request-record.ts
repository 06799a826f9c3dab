/** What happened to one request: gathered along the way, settled as one ledger row. */

import type { LedgerRow } from "../ledger/ledger.ts";
import type { Reservation } from "../lib/budget.ts";
import type { Target } from "../upstream/contract.ts";
import type { Caller } from "./caller.ts";
import type { Missing } from "./missing.ts";
import type { Usage } from "./operation.ts";

export class Trip {
  readonly requestId: string;
  readonly endpoint: string;
  /** Unix milliseconds. */
  readonly at: number;
  caller: Caller | undefined;
  model: string | undefined;
  target: Target | undefined;
  attempts = 0;
  /** Questions for targets: one, or one for each part of a call that was cut. */
  questions = 0;
  /** An upstream has had the question, or a part of it, and the attempt is over. */
  reached = false;
  /** Of the attempts, those for pictures that others had left out. */
  completing = 0;
  /** Whom the attempt before the last asked. */
  #before: Target | undefined;
  /** More than one target was asked. */
  #severalAsked = false;
  /** How many calls travelled to the upstream as one, where this one waited for others. */
  batched: number | undefined;
  usage: Usage | undefined;
  /** Of an embeddings call: what the caller asked for. */
  inputs = 0;
  /** Of these, not asked of an upstream by this call: known, asked already by another, or there twice. */
  cachedInputs = 0;
  /** What the upstream counted for this call. 0 where it was not asked; undefined where it does not say. */
  upstreamTokens: number | undefined;
  /** Fields of the caller's that were served in another way than by passing them on. */
  adapted: readonly string[] | undefined;
  /** Fields that make no difference to the model, and were left out. */
  dropped: readonly string[] | undefined;
  /** Pictures of a call that could not be made, where others could. */
  missing: Missing | undefined;
  /** What was done for the call, in order, in few words each. Of image calls. */
  steps: string[] | undefined;
  /** US dollars; undefined where it is not known. */
  cost: number | undefined;
  /** What is held of budgets for the call, until it is over. Absent where there is none. */
  reservation: Reservation | undefined;
  /** A target was asked again, or another one, after a fault that may have been charged for. */
  mayHavePaid = false;
  /** How many pictures the caller asked for. */
  ordered = 1;
  /** Pictures that may have been paid for, and of which no answer came that tells what they cost. */
  unanswered = 0;
  /** Pictures that were asked of another target after they may have been paid for. */
  reordered = 0;
  /** US dollars: what counts against budgets beside `cost`, or where it is not known, because it may have been paid. */
  estimate: number | undefined;
  /** May be answered from memory only: there is too much to do for more. */
  knownOnly = false;
  /** A target has been asked, or is about to be. */
  begun = false;
  #whenOver: (() => void)[] | undefined;
  bytesIn = 0;
  bytesOut = 0;
  status = 0;
  error: string | undefined;
  latencyMs = 0;

  constructor(requestId: string, endpoint: string, at: number) {
    this.requestId = requestId;
    this.endpoint = endpoint;
    this.at = at;
  }

  step(words: string): void {
    this.steps ??= [];
    this.steps.push(words);
  }

  /** For those who hold something until the journey is over. */
  whenOver(listener: () => void): void {
    this.#whenOver ??= [];
    this.#whenOver.push(listener);
  }

  over(): void {
    const listeners = this.#whenOver;
    this.#whenOver = undefined;
    if (listeners) callAll(listeners);
  }

  /** Parts of the call may have been answered by different targets. */
  get isScattered(): boolean {
    return this.#severalAsked && this.questions > 1;
  }

  attempt(target: Target): void {
    if (this.target !== undefined && this.target !== target) this.#severalAsked = true;
    this.#before = this.target;
    this.target = target;
    this.attempts++;
  }

  /** The last attempt ended before its target was asked anything, so it was none. */
  unasked(): void {
    this.target = this.#before;
    this.attempts--;
  }

  row(caller: Caller): LedgerRow {
    return {
      requestId: this.requestId,
      at: this.at,
      endpoint: this.endpoint,
      keyId: caller.id,
      model: this.model ?? null,
      upstream: this.target?.upstream.id ?? null,
      targetModel: this.target?.model ?? null,
      attempts: this.attempts,
      status: this.status,
      error: this.error ?? null,
      latencyMs: this.latencyMs,
      inputTokens: this.usage?.inputTokens ?? null,
      outputTokens: this.usage?.outputTokens ?? null,
      images: this.usage?.images ?? null,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      cost: this.cost ?? null,
      steps: this.steps ? this.steps.join("; ").slice(0, 2000) : null,
      project: caller.project ?? null,
      estimatedCost: this.estimate ?? null,
      cachedInputs: this.inputs > 0 ? this.cachedInputs : null,
      upstreamTokens: this.inputs > 0 ? (this.upstreamTokens ?? null) : null,
    };
  }
}

/** Each is called, also after another has thrown. */
function callAll(listeners: readonly (() => void)[]): void {
  const [first, ...others] = listeners;
  try {
    first?.();
  } finally {
    if (others.length > 0) callAll(others);
  }
}
