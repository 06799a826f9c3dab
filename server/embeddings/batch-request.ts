/** Calls that travel together: one question to the upstream, and to each caller what is its own. */

import { AbortSource } from "../lib/abort-signal.ts";
import { EncodedVector } from "../lib/codec/encoded-vector.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { runConcurrently } from "../lib/run-concurrently.ts";
import { freeBuffer } from "../lib/spill-buffer.ts";
import type { RequestLoad } from "../request/request-load.ts";
import type { Send, StageRequest } from "../request/stage.ts";
import type { EmbeddingInput, EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";
import { tokensPerInput } from "./share-input-tokens.ts";

export type EmbeddingsSend = Send<EmbeddingsQuery, EmbeddingsResponse>;

/** One call among several. It hears its outcome, or leaves as soon as its own signal fires. */
export class BatchMember {
  readonly request: StageRequest<EmbeddingsQuery>;
  readonly load: RequestLoad;
  readonly response: Promise<EmbeddingsResponse>;
  /** It has heard its outcome, or left. */
  isSettled = false;
  /** Told when it leaves early. */
  onAbort: (() => void) | undefined;
  readonly #resolve: (reply: EmbeddingsResponse) => void;
  readonly #reject: (error: unknown) => void;

  constructor(call: StageRequest<EmbeddingsQuery>, load: RequestLoad) {
    this.request = call;
    this.load = load;
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddingsResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    call.signal.addEventListener("abort", this.#leave);
  }

  succeed(reply: EmbeddingsResponse): void {
    this.#end();
    this.#resolve(reply);
  }

  fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.isSettled = true;
    this.request.signal.removeEventListener("abort", this.#leave);
  }

  readonly #leave = (): void => {
    // A signal that is firing may still call those who have stopped listening.
    if (this.isSettled) return;
    this.fail(this.request.signal.reason);
    this.onAbort?.();
  };
}

/** Some who travel as one, and where they are a half of others: what became of the other half. */
interface Lot {
  readonly members: readonly BatchMember[];
  readonly halving?: Halving;
}

/** Of those whom a server's fault met together. */
interface Halving {
  /** What the half that is done has shown. Absent: none is, or the server failed it as well. */
  server?: "well" | "in trouble";
  /** The half that the server failed as well, until it is known how the other fares. */
  failed?: { readonly party: readonly BatchMember[]; readonly error: unknown };
}

/** Never fails: every member hears its own outcome. */
export const sendBatch = (
  members: readonly BatchMember[],
  send: EmbeddingsSend,
  maxParallel: number,
): Promise<void> => {
  const pile: Lot[] = [{ members }];
  const halve = (party: readonly BatchMember[], halving?: Halving): void => {
    const middle = party.length >> 1;
    for (const half of [party.slice(middle), party.slice(0, middle)]) {
      pile.push({ members: half, ...(halving && { halving }) });
    }
  };
  const failedBy = (party: readonly BatchMember[], error: unknown, halving: Halving = {}): void => {
    if (party.length > 1 && halving.server !== "in trouble") halve(party, {});
    else failAll(party, error);
  };
  const show = (halving: Halving | undefined, server: NonNullable<Halving["server"]>): void => {
    if (!halving) return;
    halving.server = server;
    if (halving.failed) failedBy(halving.failed.party, halving.failed.error, halving);
  };
  return runConcurrently(pile, maxParallel, async ({ members: all, halving }) => {
    const party = all.filter((member) => !member.isSettled);
    if (party.length === 0) return show(halving, "well");
    try {
      shareOut(await ask(party, send), party);
      show(halving, "well");
    } catch (error) {
      if (isServers(error)) {
        if (!halving || halving.server) failedBy(party, error, halving);
        else if (!halving.failed) halving.failed = { party, error };
        else {
          // Both halves: it is no input's fault, and nobody would gain by being sent again.
          failAll(halving.failed.party, halving.failed.error);
          failAll(party, error);
        }
        return;
      }
      const blamed = blamesInputs(error);
      if (blamed && party.length > 1) halve(party);
      else failAll(party, error);
      show(halving, blamed ? "well" : "in trouble");
    }
  });
};

function failAll(party: readonly BatchMember[], error: unknown): void {
  for (const member of party) member.fail(error);
}

/** Something in the question is wrong, and nobody can tell whose: they are taken apart until it shows. */
const blamesInputs = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.definition.retry === "never" &&
  error.definition.causedBy !== "gateway";

/**
 * Servers of one's own answer 500, or numbers that are none, to an input that they cannot digest, so these may be an
 * input's fault too. Any other fault of the upstream is everyone's; each may look for another target.
 */
const isServers = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.kind === "upstream_error" || error.kind === "upstream_invalid");

function ask(party: readonly BatchMember[], send: EmbeddingsSend): Promise<EmbeddingsResponse> {
  for (const { request: call } of party) call.record.routing.batchSize = party.length;
  const { request: call } = party[0]!;
  if (party.length === 1) {
    party[0]!.onAbort = undefined;
    return send(call);
  }
  const cancel = new AbortSource();
  let present = party.length;
  for (const member of party) {
    member.onAbort = () => {
      // As long as one is left, the others never notice.
      if (--present === 0) cancel.abort(member.request.signal.reason);
    };
  }
  const query = { ...call.query, input: joined(party), single: false };
  // With the record of the first: what is written into it below here is true of all.
  return send({ ...call, query, signal: cancel });
}

function joined(party: readonly BatchMember[]): EmbeddingInput {
  const [texts, tokens]: [string[], (readonly number[])[]] = [[], []];
  for (const { request: call } of party) {
    const { input } = call.query;
    if (input.kind === "text") texts.push(...input.texts);
    else tokens.push(...input.tokens);
  }
  return texts.length > 0 ? { kind: "text", texts } : { kind: "tokens", tokens };
}

function shareOut(reply: EmbeddingsResponse, party: readonly BatchMember[]): void {
  const { vectors, usage } = reply;
  const asked = party.reduce((sum, { load }) => sum + load.items, 0);
  // Held by `check.ts` already. One off here would give a caller another's vector, so it is held twice.
  if (vectors.length !== asked) {
    throw new GatewayError(
      "upstream_invalid",
      `The upstream's response is not usable: ${vectors.length} vectors for ${asked} inputs.`,
    );
  }
  // Its own call and its own answer: nothing to take apart.
  if (party.length === 1) {
    party[0]!.succeed(reply);
    return;
  }
  // It was everyone's and is nobody's: its memory need not wait for the garbage collector, unless vectors lie in it.
  if (reply.verbatim && !(vectors[0] instanceof EncodedVector)) {
    for (const piece of reply.verbatim.body.list) freeBuffer(piece.buffer);
  }
  const counts = usage && tokensPerInput(usage, joined(party));
  let from = 0;
  for (const member of party) {
    const to = from + member.load.items;
    // They are alike: what was done for one was done for all.
    member.request.record.parameters.adapted = party[0]!.request.record.parameters.adapted;
    member.succeed({
      vectors: vectors.slice(from, to),
      ...(counts && { usage: usageOf(counts.slice(from, to)) }),
    });
    from = to;
  }
}

const usageOf = (perInput: readonly number[]): NonNullable<EmbeddingsResponse["usage"]> => ({
  inputTokens: perInput.reduce((sum, tokens) => sum + tokens, 0),
  perInput,
});
