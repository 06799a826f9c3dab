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
import { hungUp } from "./deadline.ts";
import { LostAnswers } from "./lost-answers.ts";

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

export class KeptAnswers {
  readonly #shelf: AnswerShelf;
  readonly #report: (error: unknown) => void;
  /** Calls under way that others may wait for, by name. */
  readonly #running = new Map<string, Going>();
  readonly #lost = new LostAnswers();

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
    return idempotencyKey === undefined
      ? this.#claimLost(ask, fingerprint)
      : this.#claimKey(ask, fingerprint, nameOf("key", owner, idempotencyKey));
  }

  async #claimKey(ask: Ask, fingerprint: string, name: string): Promise<Claim> {
    for (;;) {
      const running = this.#running.get(name);
      if (running) {
        if (running.fingerprint !== fingerprint) throw otherQuestion();
        await this.#waitFor(running, ask);
        continue;
      }
      const answer = await this.#shelf.find(name);
      if (answer) {
        if (answer.fingerprint !== fingerprint) throw otherQuestion();
        this.#lost.remove(nameOf("id", ask.owner, answer.requestId));
        return { kind: "replay", answer };
      }
      // Looking took a moment, in which a twin may have begun.
      if (this.#running.has(name)) continue;
      const claim = new Going(this, ask, fingerprint);
      claim.begin([name]);
      return { kind: "go", claim };
    }
  }

  /** To one caller only: the next who asks the same gets a picture of their own. */
  async #claimLost(ask: Ask, fingerprint: string): Promise<Claim> {
    const question = nameOf("lost", ask.owner, fingerprint);
    for (;;) {
      const call = this.#lost.first(question);
      if (call === undefined) {
        return { kind: "go", claim: new Going(this, ask, fingerprint) };
      }
      const running = this.#running.get(call);
      if (running) {
        await this.#waitFor(running, ask);
        continue;
      }
      this.#lost.remove(call);
      const answer = await this.#shelf.find(call);
      if (answer) return { kind: "replay", answer };
    }
  }

  /** Whoever leaves while they wait for another's call finds its answer by their own id. */
  async #waitFor(running: Going, { owner, requestId, clientId, signal }: Ask): Promise<void> {
    try {
      await unlessAborted(running.over, signal);
    } catch {
      // The only way out of it, and one without words of its own.
      running.alsoFor(idsOf(owner, requestId, clientId));
      throw hungUp();
    }
  }

  /** An answer by the id of its call, ours or the caller's. "under way" where the call is not over. */
  async byId(owner: string, id: string): Promise<KeptAnswer | "under way" | undefined> {
    const name = nameOf("id", owner, id);
    if (this.#running.has(name)) return "under way";
    const answer = await this.#shelf.find(name);
    if (answer) this.#lost.remove(nameOf("id", owner, answer.requestId));
    return answer;
  }

  run(name: string, going: Going): void {
    this.#running.set(name, going);
  }

  /** A name may have been given to a later call meanwhile. */
  end(name: string, going: Going): void {
    if (this.#running.get(name) === going) this.#running.delete(name);
  }

  lose({ owner, requestId }: Ask, fingerprint: string): void {
    const question = nameOf("lost", owner, fingerprint);
    this.#lost.add(nameOf("id", owner, requestId), { owner, question });
  }

  /** There will be no answer. */
  giveUp({ owner, requestId }: Ask): void {
    this.#lost.remove(nameOf("id", owner, requestId));
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
}

/** Of one answer: whoever comes after so many that wait for it makes their own. */
const mostNames = 64;

/** A call that is being made, and what is kept of it. */
export class Going {
  readonly #kept: KeptAnswers;
  readonly #ask: Ask;
  #fingerprint: string | undefined;
  readonly #names = new Set<string>();
  #over = Promise.withResolvers<void>();
  #recorder: Recorder | undefined;
  #isSpoilt = false;
  #isOver = false;

  constructor(kept: KeptAnswers, ask: Ask, fingerprint: string | undefined) {
    this.#kept = kept;
    this.#ask = ask;
    this.#fingerprint = fingerprint;
  }

  get fingerprint(): string | undefined {
    return this.#fingerprint;
  }

  /** Settles when the call is over, however it went. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The answer will be asked for again, whether it arrives or not. */
  get isWanted(): boolean {
    return this.#ask.idempotencyKey !== undefined;
  }

  begin(names: readonly string[]): void {
    // It was over, and was not delivered after all: whoever comes now waits for the end of that, and not for one that is past.
    if (this.#isOver) {
      this.#isOver = false;
      this.#over = Promise.withResolvers();
    }
    for (const name of names) {
      this.#names.add(name);
      this.#kept.run(name, this);
    }
  }

  alsoFor(names: readonly string[]): void {
    if (this.#names.size < mostNames) this.begin(names);
  }

  /** The caller is gone: whoever asks the same may wait for what was begun. Files of the call must still be there. */
  async abandon(): Promise<void> {
    const { owner, requestId, clientId } = this.#ask;
    this.#fingerprint ??= await this.#ask.fingerprint();
    this.begin(idsOf(owner, requestId, clientId));
    this.#kept.lose(this.#ask, this.#fingerprint);
  }

  append(piece: string | Uint8Array): void {
    // An answer with a gap in it is none: what could not be begun, or went wrong once, is not taken up again.
    if (this.#isSpoilt) return;
    try {
      this.#recorder ??= this.#kept.record();
      this.#recorder?.append(piece);
      this.#isSpoilt = this.#recorder === undefined;
    } catch (error) {
      this.#isSpoilt = true;
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
    const fingerprint = this.#fingerprint ?? (await this.#ask.fingerprint());
    const facts = { requestId, fingerprint, headers };
    for (const name of idsOf(owner, requestId, clientId)) this.#names.add(name);
    const kept = new Set<string>();
    try {
      // While it is written, one who waits may leave and want it under another name.
      while (kept.size < this.#names.size) {
        const names = [...this.#names].filter((name) => !kept.has(name));
        await this.#recorder?.commit(names, facts);
        for (const name of names) kept.add(name);
      }
    } catch (error) {
      this.#kept.failed(error);
    }
    this.#recorder = undefined;
    this.end();
  }

  /** Nothing is kept: whoever waits makes the call anew. */
  async release(): Promise<void> {
    // A caller who left is told of as of a failure, after the answer was kept.
    if (this.#isOver) return;
    await this.#recorder?.discard();
    this.#recorder = undefined;
    this.#kept.giveUp(this.#ask);
    this.end();
  }

  end(): void {
    this.#isOver = true;
    for (const name of this.#names) this.#kept.end(name, this);
    this.#over.resolve();
  }
}

const idsOf = (owner: string, requestId: string, clientId: string | undefined): string[] =>
  [requestId, ...(clientId === undefined ? [] : [clientId])].map((id) => nameOf("id", owner, id));

const nameOf = (...parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex");

const otherQuestion = (): GatewayError =>
  new GatewayError(
    "idempotency_mismatch",
    "This Idempotency-Key was used before with a different request. Use a new key for each new request.",
  );
