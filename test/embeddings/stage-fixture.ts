/** Pipeline stages without a gateway around them, and an upstream that can be paused, inspected and made to fail. */
import type { Model } from "../../server/config/snapshot.ts";
import { type MicroBatchOptions, microBatch } from "../../server/embeddings/micro-batch.ts";
import { brand } from "../../server/lib/branded.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { PermittedModel } from "../../server/request/caller.ts";
import { Deadline, SignalClient } from "../../server/request/deadline.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import type { RoutedAttempt, Send, StageRequest } from "../../server/request/stage.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Target,
} from "../../server/upstream/contract.ts";

export type EmbeddingsRequest = StageRequest<EmbeddingsQuery>;
export type EmbeddingsSend = Send<EmbeddingsQuery, EmbeddingsResponse>;

export const targetNamed = (id: string): Target => ({
  upstream: { id, kind: "openai", headers: {}, options: {} },
  model: "their-model",
});

export const modelWithTargets = (...targets: Target[]): PermittedModel =>
  brand<Model, "permitted">({
    id: "public-model",
    kind: "embedding",
    targets,
    source: "yaml",
    ownedBy: "test",
    maxImages: 1,
  });

export const capabilitiesOf =
  (limits: Partial<EmbeddingCapabilities>): ((target: Target) => EmbeddingCapabilities) =>
  () => ({ maxItems: 2048, base64: true, tokens: true, taskTypes: "indifferent", ...limits });

/** An abort signal that the test can abort, and that exposes its listeners, so that tests find leaked ones. */
type CountedSignal = AbortSignal & {
  readonly listeners: ReadonlySet<unknown>;
  abort(reason: unknown): void;
};

function countedSignal(): CountedSignal {
  const controller = new AbortController();
  const { signal } = controller;
  const listeners = new Set<() => void>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  return Object.assign(signal, {
    listeners,
    abort: (reason: unknown) => controller.abort(reason),
    addEventListener(type: "abort", listener: () => void): void {
      listeners.add(listener);
      add(type, listener);
    },
    removeEventListener(type: "abort", listener: () => void): void {
      listeners.delete(listener);
      remove(type, listener);
    },
  });
}

/** A request whose record the test reads. */
export type RecordedRequest = EmbeddingsRequest & { readonly record: RequestRecord };

export type CountedRequest = RecordedRequest & { readonly client: CountedSignal };

export const textsOf = (request: EmbeddingsRequest): readonly string[] =>
  request.query.input.kind === "text" ? request.query.input.texts : [];

export const entriesOf = (input: EmbeddingInput): readonly (string | readonly number[])[] => {
  if (input.kind === "mixed") throw new Error("this test has no images");
  return input.kind === "text" ? input.texts : input.tokens;
};

export function requestFor(
  input: readonly string[] | EmbeddingInput,
  model: PermittedModel,
  query: Partial<EmbeddingsQuery> = {},
): CountedRequest {
  const allInputs = "kind" in input ? input : { kind: "text" as const, texts: input };
  const [target] = model.targets;
  const client = countedSignal();
  const record = new RequestRecord("req_test", "embeddings", 0);
  record.embeddings.inputs = entriesOf(allInputs).length;
  return {
    operation: "embeddings",
    temp: noRequestTemp,
    query: {
      model: model.id,
      input: allInputs,
      single: entriesOf(allInputs).length === 1,
      encoding: "float",
      extraFields: {},
      ...query,
    },
    model,
    ...(target && { target }),
    client,
    signal: () => client,
    deadline: new Deadline({ client: connectedClient, timeoutMs: 60_000, clock: () => 0 }),
    record,
    context: record,
    report: record,
  };
}

/** An attempt of the routing stage. */
export const attemptWith = (values: Partial<RoutedAttempt> = {}): RoutedAttempt => ({
  queueWait: { ms: 0, isWaiting: false, admittedAt: 0 },
  wasSent: false,
  startedAt: 0,
  timeoutMs: () => 60_000,
  followsSlow: false,
  chargeEarlierMicroBatch: () => undefined,
  ...values,
});

/** The counts of the ledger row. */
export const countsOf = ({
  embeddings: { inputs },
  cachedInputs,
  upstreamTokens,
}: RequestRecord) => ({
  inputs,
  cachedInputs,
  upstreamTokens,
});

const connectedClient = new SignalClient(new AbortController().signal);

/** A vector that depends on everything that may change it, so that a test detects another request's vector. */
export function vectorFor(
  entry: string | readonly number[],
  { dimensions, taskType, outputType, user, extraFields }: Partial<EmbeddingsQuery> = {},
): number[] {
  const options = [dimensions, taskType?.given, outputType?.type, user, extraFields ?? {}];
  const identity = JSON.stringify([entry, ...options]);
  return [Number(Bun.hash.crc32(identity)), identity.length];
}

export const responseTo = ({ query }: EmbeddingsRequest): EmbeddingsResponse => {
  const entries = entriesOf(query.input);
  return {
    vectors: entries.map((entry) => vectorFor(entry, query)),
    usage: { inputTokens: entries.reduce((sum, entry) => sum + entry.length, 0) },
  };
};

export interface HeldRequest {
  readonly request: RecordedRequest;
  respond(response?: EmbeddingsResponse): void;
  fail(error: unknown): void;
}

/** Upstream that holds each request until the test responds to it. An aborted request is rejected. */
export class HeldUpstream {
  readonly requests: HeldRequest[] = [];
  inFlight = 0;

  readonly next: EmbeddingsSend = (request) => {
    const { promise, resolve, reject } = Promise.withResolvers<EmbeddingsResponse>();
    this.inFlight++;
    const signal = request.signal();
    const onAbort = (): void => reject(signal.reason);
    const onSettled = (): void => {
      this.inFlight--;
      signal.removeEventListener("abort", onAbort);
    };
    promise.then(onSettled, onSettled);
    signal.addEventListener("abort", onAbort);
    this.requests.push({
      request: request as RecordedRequest,
      respond: (response = responseTo(request)) => resolve(response),
      fail: reject,
    });
    return promise;
  };

  /** The texts of each request so far. */
  get requestedTexts(): (readonly string[])[] {
    return this.requests.map(({ request }) => textsOf(request));
  }

  async respondToAll(): Promise<void> {
    for (let at = 0; at < this.requests.length; at++) {
      this.requests[at]?.respond();
      await settled();
    }
  }
}

/** Resolves after one turn of the event loop: everything that needs no timer has happened. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const tooManyTokens = (): GatewayError =>
  new GatewayError("max_tokens_per_request", "Requested too many tokens.");

export const tooLarge = (): GatewayError =>
  new GatewayError("upstream_rejected", "Payload too large.", { overrides: { status: 413 } });

export const rejected = (message: string): GatewayError =>
  new GatewayError("upstream_rejected", message, { overrides: { status: 400 } });

export const overloaded = (): GatewayError =>
  new GatewayError("upstream_overloaded", "The upstream responded with 503.");

/** The value or the error of a promise, without throwing. */
export const outcomeOf = <T>(
  promise: Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown }> =>
  promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

export const model = modelWithTargets(targetNamed("a"));
export const requestOf = (text: string, query: Partial<EmbeddingsQuery> = {}): CountedRequest =>
  requestFor([text], model, query);

/** A concurrency of one, so that a single request keeps the target busy, and a wait longer than any test. */
export const microBatchStage = (
  limits: Partial<EmbeddingCapabilities> = {},
  options: Partial<MicroBatchOptions> = {},
) => {
  // Every response takes 10 ms: the target may become busy.
  let now = 0;
  return microBatch({
    clock: () => {
      now += 10;
      return now;
    },
    capabilities: capabilitiesOf(limits),
    enabled: () => true,
    concurrency: 1,
    maxWaitMs: 60_000,
    ...options,
  });
};

export function setUpMicroBatching(...options: Parameters<typeof microBatchStage>) {
  const upstream = new HeldUpstream();
  return { upstream, send: microBatchStage(...options)(upstream.next) };
}

/** The same, with a busy target: a request with the text "first" occupies its only slot. */
export function setUpBusyMicroBatching(...options: Parameters<typeof microBatchStage>) {
  const { upstream, send } = setUpMicroBatching(...options);
  void send(requestOf("first"));
  /** Ends the first request: waiting requests may be sent. */
  const release = async (): Promise<void> => {
    upstream.requests[0]?.respond();
    await settled();
  };
  return { upstream, send, release };
}

/** Sends one request for each text. */
export function sendTexts(send: EmbeddingsSend, texts: readonly string[]) {
  const requests = texts.map((text) => requestOf(text));
  return { requests, outcomes: requests.map((request) => outcomeOf(send(request))) };
}
