/**
 * Step 8 for pictures: a call that was made already is not paid for twice. The same Idempotency-Key gives the same answer;
 * a twin that comes while the first is under way waits for it; and a picture whose caller left before it was done goes to
 * whoever asks the same again, or asks for it by the id of the call.
 */

import type { AbortSignalLike } from "../lib/abort-signal.ts";
import { abortable } from "../lib/abortable.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { ResponseStore, ResponseWriter, StoredResponse } from "../lib/response-store.ts";
import { clientClosedError } from "../request/deadline.ts";
import { InFlightRequest, idName, idNames, storeName } from "./in-flight-request.ts";
import { OrphanedResponses } from "./orphaned-responses.ts";

export interface ClaimOptions {
  /** The caller's key, by id: nobody gets another's answer. */
  readonly owner: string;
  readonly requestId: string;
  readonly idempotencyKey?: string;
  /** What the caller calls the request. */
  readonly clientRequestId?: string;
  readonly fingerprint: () => Promise<string>;
  readonly signal: AbortSignalLike;
}

/** A call that was waited for, and whose failure is the answer to those who did. */
export interface FailedRequest {
  readonly requestId: string;
  readonly error: GatewayError;
}

export type Claim =
  | { readonly kind: "replay"; readonly answer: StoredResponse }
  | ({ readonly kind: "failed" } & FailedRequest)
  | { readonly kind: "go"; readonly claim: InFlightRequest };

export class IdempotencyStore {
  readonly #shelf: ResponseStore;
  readonly #report: (error: unknown) => void;
  /** Calls under way that others may wait for, by name. */
  readonly #running = new Map<string, InFlightRequest>();
  readonly #lost = new OrphanedResponses();

  constructor(shelf: ResponseStore, report: (error: unknown) => void) {
    this.#shelf = shelf;
    this.#report = report;
  }

  /** The answer, where there is one already, or the right to make the call. */
  async claim(ask: ClaimOptions): Promise<Claim> {
    const { owner, idempotencyKey } = ask;
    if (idempotencyKey === undefined && !this.#lost.has(owner)) {
      return { kind: "go", claim: new InFlightRequest(this, ask, undefined) };
    }
    const fingerprint = await ask.fingerprint();
    return idempotencyKey === undefined
      ? this.#claimLost(ask, fingerprint)
      : this.#claimKey(ask, fingerprint, storeName("key", owner, idempotencyKey));
  }

  async #claimKey(ask: ClaimOptions, fingerprint: string, name: string): Promise<Claim> {
    for (;;) {
      const running = this.#running.get(name);
      if (running) {
        if (running.fingerprint !== fingerprint) throw keyReusedError();
        const failed = await this.#waitFor(running, ask);
        if (failed) return { kind: "failed", ...failed };
        continue;
      }
      const answer = await this.#shelf.find(name);
      if (answer) {
        if (answer.fingerprint !== fingerprint) throw keyReusedError();
        this.#lost.remove(idName(ask.owner, answer.requestId));
        return { kind: "replay", answer };
      }
      // Looking took a moment, in which a twin may have begun.
      if (this.#running.has(name)) continue;
      const claim = new InFlightRequest(this, ask, fingerprint);
      claim.register([name, ...idNames(ask)]);
      return { kind: "go", claim };
    }
  }

  /** To one caller only: the next who asks the same gets a picture of their own. */
  async #claimLost(ask: ClaimOptions, fingerprint: string): Promise<Claim> {
    const question = storeName("lost", ask.owner, fingerprint);
    for (;;) {
      const call = this.#lost.first(question);
      if (call === undefined) {
        return { kind: "go", claim: new InFlightRequest(this, ask, fingerprint) };
      }
      const running = this.#running.get(call);
      if (running) {
        const failed = await this.#waitFor(running, ask);
        // Like an answer, to one of them: the others want pictures of their own.
        if (failed && running.claimFailure()) return { kind: "failed", ...failed };
        continue;
      }
      this.#lost.remove(call);
      const answer = await this.#shelf.find(call);
      if (answer) return { kind: "replay", answer };
    }
  }

  /** Whoever leaves while they wait for another's call finds its answer by their own id. */
  async #waitFor(running: InFlightRequest, ask: ClaimOptions): Promise<FailedRequest | undefined> {
    try {
      return await abortable(running.settled, ask.signal);
    } catch {
      // The only way out of it, and one without words of its own.
      running.addWaiter(idNames(ask));
      throw clientClosedError();
    }
  }

  /** An answer by the id of its call, ours or the caller's. "under way" where the call is not over. */
  async findById(owner: string, id: string): Promise<StoredResponse | "under way" | undefined> {
    const name = idName(owner, id);
    if (this.#running.has(name)) return "under way";
    const answer = await this.#shelf.find(name);
    if (answer) this.#lost.remove(idName(owner, answer.requestId));
    return answer;
  }

  register(name: string, going: InFlightRequest): void {
    this.#running.set(name, going);
  }

  /** A name may have been given to a later call meanwhile. */
  unregister(name: string, going: InFlightRequest): void {
    if (this.#running.get(name) === going) this.#running.delete(name);
  }

  addOrphan({ owner, requestId }: ClaimOptions, fingerprint: string): void {
    const question = storeName("lost", owner, fingerprint);
    this.#lost.add(idName(owner, requestId), { owner, question });
  }

  /** There will be no answer. */
  removeOrphan({ owner, requestId }: ClaimOptions): void {
    this.#lost.remove(idName(owner, requestId));
  }

  /** Undefined where the disk does not take it: then nothing is kept, and the call goes on. */
  startRecording(): ResponseWriter | undefined {
    try {
      return this.#shelf.begin();
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }

  reportStorageError(error: unknown): void {
    this.#report(error);
  }
}

const keyReusedError = (): GatewayError =>
  new GatewayError(
    "idempotency_mismatch",
    "This Idempotency-Key was used before with a different request. Use a new key for each new request.",
  );
