/** Pipeline stages without a gateway around them, and an upstream that can be paused, inspected and made to fail. */

import type { Model } from "../../server/config/snapshot.ts";
import { type BatchOptions, batch } from "../../server/embeddings/batch.ts";
import { AbortSource } from "../../server/lib/abort-signal.ts";
import { brand } from "../../server/lib/branded.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { noRequestTemp } from "../../server/lib/request-temp.ts";
import type { Route } from "../../server/request/caller.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import type { Send, StageRequest } from "../../server/request/stage.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Target,
} from "../../server/upstream/contract.ts";

export type EmbeddingsCall = StageRequest<EmbeddingsQuery>;
export type EmbeddingsSend = Send<EmbeddingsQuery, EmbeddingsResponse>;

export const targetNamed = (id: string): Target => ({
  upstream: { id, kind: "openai", headers: {}, options: {} },
  model: "their-model",
});

export const routeTo = (...targets: Target[]): Route =>
  brand<Model, "permitted">({
    id: "our-model",
    kind: "embedding",
    targets,
    source: "file",
    ownedBy: "test",
    maxImages: 1,
  });

export const traitsOf =
  (limits: Partial<EmbeddingCapabilities>): ((target: Target) => EmbeddingCapabilities) =>
  () => ({ maxItems: 2048, base64: true, tokens: true, taskTypes: "indifferent", ...limits });

/** Knows who still listens to it. */
export class CountedSignal extends AbortSource {
  readonly heard = new Set<() => void>();

  override addEventListener(type: "abort", listener: () => void): void {
    this.heard.add(listener);
    super.addEventListener(type, listener);
  }

  override removeEventListener(type: "abort", listener: () => void): void {
    this.heard.delete(listener);
    super.removeEventListener(type, listener);
  }
}

export type CountedCall = EmbeddingsCall & { readonly signal: CountedSignal };

export const textsOf = (call: EmbeddingsCall): readonly string[] =>
  call.query.input.kind === "text" ? call.query.input.texts : [];

export const entriesOf = (input: EmbeddingInput): readonly (string | readonly number[])[] =>
  input.kind === "text" ? input.texts : input.tokens;

export function callFor(
  input: readonly string[] | EmbeddingInput,
  route: Route,
  query: Partial<EmbeddingsQuery> = {},
): CountedCall {
  const whole = "kind" in input ? input : { kind: "text" as const, texts: input };
  const [target] = route.targets;
  return {
    operation: "embeddings",
    temp: noRequestTemp,
    query: {
      model: route.id,
      input: whole,
      single: entriesOf(whole).length === 1,
      encoding: "float",
      rest: {},
      ...query,
    },
    route,
    ...(target && { target }),
    signal: new CountedSignal(),
    record: new RequestRecord("req_test", "embeddings", 0),
  };
}

/** Differs with everything that makes a difference: who gets another's vector can tell. */
export function vectorFor(
  entry: string | readonly number[],
  { dimensions, taskType: purpose, user, rest }: Partial<EmbeddingsQuery> = {},
): number[] {
  const told = JSON.stringify([entry, dimensions, purpose?.given, user, rest ?? {}]);
  return [Number(Bun.hash.crc32(told)), told.length];
}

export const answerTo = ({ query }: EmbeddingsCall): EmbeddingsResponse => {
  const entries = entriesOf(query.input);
  return {
    vectors: entries.map((entry) => vectorFor(entry, query)),
    usage: { inputTokens: entries.reduce((sum, entry) => sum + entry.length, 0) },
  };
};

export interface Visit {
  readonly call: EmbeddingsCall;
  answer(reply?: EmbeddingsResponse): void;
  fail(error: unknown): void;
}

/** Answers when told to. Who hangs up is let go. */
export class HeldUpstream {
  readonly visits: Visit[] = [];
  underWay = 0;

  readonly next: EmbeddingsSend = (call) => {
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddingsResponse>();
    this.underWay++;
    const over = (): void => {
      this.underWay--;
    };
    promise.then(over, over);
    call.signal.addEventListener("abort", () => reject(call.signal.reason));
    this.visits.push({ call, answer: (reply = answerTo(call)) => resolve(reply), fail: reject });
    return promise;
  };

  /** The texts of each call so far. */
  get asked(): (readonly string[])[] {
    return this.visits.map(({ call }) => textsOf(call));
  }

  async answerAll(): Promise<void> {
    for (let at = 0; at < this.visits.length; at++) {
      this.visits[at]?.answer();
      await settled();
    }
  }
}

/** All that can happen without waiting has happened. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const tooManyTokens = (): GatewayError =>
  new GatewayError("max_tokens_per_request", "Requested too many tokens.");

export const tooLarge = (): GatewayError =>
  new GatewayError("upstream_rejected", "Payload too large.", { overrides: { status: 413 } });

export const rejected = (words: string): GatewayError =>
  new GatewayError("upstream_rejected", words, { overrides: { status: 400 } });

export const broken = (): GatewayError =>
  new GatewayError("upstream_overloaded", "It answered 503.");

/** What a promise came to, without throwing. */
export const outcomeOf = <T>(
  promise: Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown }> =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

export const route = routeTo(targetNamed("a"));
export const call = (text: string, query: Partial<EmbeddingsQuery> = {}): CountedCall =>
  callFor([text], route, query);

export interface Arranged {
  readonly upstream: HeldUpstream;
  readonly send: EmbeddingsSend;
  /** Sends one call that occupies the only lane. */
  busy(): void;
  /** Ends it: whoever waits may leave. */
  free(): Promise<void>;
}

/** One lane, so that a single call keeps the target busy, and a wait that no test outlasts. */
export function arrange(
  limits: Partial<EmbeddingCapabilities> = {},
  options: Partial<BatchOptions> = {},
): Arranged {
  const upstream = new HeldUpstream();
  const send = batch({
    fastMs: 0,
    clock: () => 0,
    capabilities: traitsOf(limits),
    enabled: () => true,
    concurrency: 1,
    maxWaitMs: 60_000,
    ...options,
  })(upstream.next);
  return {
    upstream,
    send,
    busy: () => void send(call("first")),
    free: async () => {
      upstream.visits[0]?.answer();
      await settled();
    },
  };
}
