/**
 * Step 8 for pictures: a call that was made already is not paid for twice. The same Idempotency-Key gives the same answer;
 * a twin that comes while the first is under way waits for it; and a picture whose caller left before it was done goes to
 * whoever asks the same again, or asks for it by the id of the call.
 */
import { createHash } from "node:crypto";
import type { AnswerFacts, AnswerShelf, KeptAnswer, Recorder } from "../std/answer-shelf.ts";
import { GatewayError } from "../std/gateway-error.ts";
import type { Streamed } from "../std/json-stream.ts";
import type { Signal } from "../std/signal.ts";
import { unlessAborted } from "../std/unless-aborted.ts";

export interface Ask {
  /** The caller's key, by id: nobody gets another's answer. */
  readonly owner: string;
  readonly requestId: string;
  readonly idempotencyKey?: string;
  /** What the caller calls the request. */
  readonly clientId?: string;
  readonly fingerprint: () => Promise<string>;
  readonly signal: Signal;
}

export type Claim =
  | { readonly kind: "replay"; readonly answer: KeptAnswer }
  | { readonly kind: "go"; readonly claim: Going };

interface Running {
  readonly fingerprint: string;
  readonly over: Promise<void>;
}

export class KeptAnswers {
  readonly #shelf: AnswerShelf;
  readonly #report: (error: unknown) => void;
  /** Calls under way that others may wait for, by name. */
  readonly #running = new Map<string, Running>();
  /** Callers with an answer that did not reach them: only for them is it worth to look. */
  readonly #lost = new Map<string, number>();

  constructor(shelf: AnswerShelf, report: (error: unknown) => void) {
    this.#shelf = shelf;
    this.#report = report;
  }

  /** The answer, where there is one already, or the right to make the call. */
  async claim(ask: Ask): Promise<Claim> {
    const { owner, idempotencyKey } = ask;
    if (idempotencyKey === undefined && !this.#lost.has(owner)) {
      return { kind: "go", claim: new Going(this, ask, undefined) };
    }
    const fingerprint = await ask.fingerprint();
    const name =
      idempotencyKey === undefined
        ? nameOf("lost", owner, fingerprint)
        : nameOf("key", owner, idempotencyKey);
    for (;;) {
      const running = this.#running.get(name);
      if (running) {
        if (running.fingerprint !== fingerprint) throw otherQuestion();
        await unlessAborted(running.over, ask.signal);
        continue;
      }
      const answer = await this.#shelf.find(name);
      if (answer) {
        if (answer.fingerprint !== fingerprint) throw otherQuestion();
        // To one of those who ask for it at the same moment.
        if (idempotencyKey === undefined && !(await this.#handOver(name, owner))) continue;
        return { kind: "replay", answer };
      }
      // Looking took a moment, in which a twin may have begun.
      if (this.#running.has(name)) continue;
      const claim = new Going(this, ask, fingerprint);
      if (idempotencyKey !== undefined) claim.begin(name, fingerprint);
      return { kind: "go", claim };
    }
  }

  /** An answer by the id of its call, ours or the caller's. "under way" where the call is not over. */
  async byId(owner: string, id: string): Promise<KeptAnswer | "under way" | undefined> {
    const name = nameOf("id", owner, id);
    return this.#running.has(name) ? "under way" : this.#shelf.find(name);
  }

  run(name: string, fingerprint: string, over: Promise<void>): void {
    this.#running.set(name, { fingerprint, over });
  }

  end(name: string): void {
    this.#running.delete(name);
  }

  lose(owner: string): void {
    this.#lost.set(owner, (this.#lost.get(owner) ?? 0) + 1);
  }

  /** Undefined where the disk does not take it: then nothing is kept, and the call goes on. */
  record(): Recorder | undefined {
    try {
      return this.#shelf.begin();
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }

  failed(error: unknown): void {
    this.#report(error);
  }

  /** To one caller only: the next who asks the same gets a picture of their own. */
  async #handOver(name: string, owner: string): Promise<boolean> {
    if (!(await this.#shelf.forget(name))) return false;
    const left = (this.#lost.get(owner) ?? 1) - 1;
    if (left > 0) this.#lost.set(owner, left);
    else this.#lost.delete(owner);
    return true;
  }
}

/** A call that is being made, and what is kept of it. */
export class Going {
  readonly #kept: KeptAnswers;
  readonly #ask: Ask;
  #fingerprint: string | undefined;
  readonly #names: string[] = [];
  readonly #over = Promise.withResolvers<void>();
  #recorder: Recorder | undefined;

  constructor(kept: KeptAnswers, ask: Ask, fingerprint: string | undefined) {
    this.#kept = kept;
    this.#ask = ask;
    this.#fingerprint = fingerprint;
  }

  /** The answer will be asked for again, whether it arrives or not. */
  get isWanted(): boolean {
    return this.#ask.idempotencyKey !== undefined;
  }

  begin(name: string, fingerprint: string): void {
    this.#names.push(name);
    this.#kept.run(name, fingerprint, this.#over.promise);
  }

  /** The caller is gone: whoever asks the same may wait for what was begun. Files of the call must still be there. */
  async abandon(): Promise<void> {
    const { owner, requestId, clientId } = this.#ask;
    this.#fingerprint ??= await this.#ask.fingerprint();
    const ids = clientId === undefined ? [requestId] : [requestId, clientId];
    for (const id of ids) this.begin(nameOf("id", owner, id), this.#fingerprint);
    this.begin(nameOf("lost", owner, this.#fingerprint), this.#fingerprint);
    this.#kept.lose(owner);
  }

  append(piece: string | Uint8Array): void {
    try {
      this.#recorder ??= this.#kept.record();
      this.#recorder?.append(piece);
    } catch (error) {
      this.#kept.failed(error);
      void this.#recorder?.discard();
      this.#recorder = undefined;
    }
  }

  async appendAll(body: string | Uint8Array | Streamed): Promise<void> {
    if (typeof body === "string" || body instanceof Uint8Array) this.append(body);
    else for await (const piece of body.open()) this.append(piece);
  }

  /** Kept under every name it was begun with. */
  async keep(headers: AnswerFacts["headers"]): Promise<void> {
    const { requestId, owner, clientId } = this.#ask;
    this.#fingerprint ??= await this.#ask.fingerprint();
    const ids = clientId === undefined ? [requestId] : [requestId, clientId];
    const names = new Set([...this.#names, ...ids.map((id) => nameOf("id", owner, id))]);
    try {
      await this.#recorder?.commit([...names], {
        requestId,
        fingerprint: this.#fingerprint,
        headers,
      });
    } catch (error) {
      this.#kept.failed(error);
    }
    this.#recorder = undefined;
    this.end();
  }

  /** Nothing is kept: whoever waits makes the call anew. */
  async release(): Promise<void> {
    await this.#recorder?.discard();
    this.#recorder = undefined;
    this.end();
  }

  end(): void {
    for (const name of this.#names) this.#kept.end(name);
    this.#over.resolve();
  }
}

const nameOf = (...parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex");

const otherQuestion = (): GatewayError =>
  new GatewayError(
    "idempotency_mismatch",
    "This Idempotency-Key was used before with a different request. Use a new key for each new request.",
  );
