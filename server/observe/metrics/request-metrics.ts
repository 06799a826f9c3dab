/** Counts finished requests: one function observes a request record, whatever happened to the request. */
import type { RequestRecord } from "../../request/request-record.ts";
import { canceled, type TimedAttempt } from "../../request/timeline.ts";
import { visitStages } from "../stage-times.ts";
import { Counter, Histogram, type ObservedRequest } from "./instruments.ts";
import type { MetricSnapshot } from "./metric-snapshot.ts";

/** Cached embeddings take under a millisecond, images minutes. */
const secondsBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
];

/** A request for something else than a model. */
export interface OtherRequest {
  readonly route: string;
  readonly status: number;
}

export class RequestMetrics {
  readonly #requests = new Counter({
    name: "vexel_requests",
    help: "Finished requests for a model. error: a code of the error table, empty for success.",
    labelNames: ["endpoint", "model", "status", "error"],
  });
  readonly #duration = new Histogram({
    name: "vexel_request_duration_seconds",
    help: "Time from the arrival of a request for a model to the end of its response.",
    labelNames: ["endpoint", "model"],
    bounds: secondsBounds,
  });
  readonly #stages = new Histogram({
    name: "vexel_request_stage_duration_seconds",
    help: "Time of one stage of a request. A request that was not queued has no stage queue.",
    labelNames: ["endpoint", "stage"],
    bounds: secondsBounds,
  });
  readonly #attempts = new Counter({
    name: "vexel_upstream_attempts",
    help: "Attempts at a target. outcome: success, canceled, or a code of the error table.",
    labelNames: ["upstream", "model", "outcome"],
  });
  readonly #attemptDuration = new Histogram({
    name: "vexel_upstream_attempt_duration_seconds",
    help: "Time of an attempt at a target that was not canceled, without the queue of the target.",
    labelNames: ["upstream", "model"],
    bounds: secondsBounds,
  });
  readonly #tokens = new Counter({
    name: "vexel_tokens",
    help: "Tokens as upstreams reported them, cached inputs included.",
    labelNames: ["model", "direction"],
  });
  readonly #images = new Counter({
    name: "vexel_images",
    help: "Images in responses.",
    labelNames: ["model"],
  });
  readonly #cost = new Counter({
    name: "vexel_cost_dollars",
    help: "Known cost of requests in US dollars.",
    labelNames: ["model", "upstream"],
  });
  readonly #unknownCosts = new Counter({
    name: "vexel_unknown_cost_requests",
    help: "Successful requests whose cost is unknown.",
    labelNames: ["model", "upstream"],
  });
  readonly #inputs = new Counter({
    name: "vexel_embedding_inputs",
    help: "Inputs of embeddings requests. source: cache, if the request sent them to no upstream, or upstream.",
    labelNames: ["model", "source"],
  });
  readonly #batches = new Histogram({
    name: "vexel_batch_requests",
    help: "Requests of one micro-batch of at least two.",
    labelNames: [],
    bounds: [2, 4, 8, 16, 32, 64],
  });
  readonly #otherRequests = new Counter({
    name: "vexel_http_requests",
    help: "HTTP requests for something else than a model.",
    labelNames: ["route", "status"],
  });

  /** `endedAt`: after the ledger row was written. Milliseconds, monotonic. */
  observe(record: RequestRecord, endedAt: number): void {
    const { endpoint, model = "", outcome, embeddings, usage, cost, routing } = record;
    const request = observedRequest(record);
    this.#requests.add(1, endpoint, model, statusText(outcome.status), outcome.error ?? "");
    this.#duration.observe(outcome.latencyMs / 1000, request, endpoint, model);
    visitStages(record, endedAt, (stage, from, to) =>
      this.#stages.observe((to - from) / 1000, undefined, endpoint, stage),
    );
    if (routing.timedAttempts) this.#observeAttempts(record, routing.timedAttempts, request);
    if (embeddings.inputs > 0) {
      const { inputs, cachedInputs } = embeddings;
      if (cachedInputs > 0) this.#inputs.add(cachedInputs, model, "cache");
      if (inputs > cachedInputs) this.#inputs.add(inputs - cachedInputs, model, "upstream");
    }
    if (usage?.inputTokens) this.#tokens.add(usage.inputTokens, model, "input");
    if (usage?.outputTokens) this.#tokens.add(usage.outputTokens, model, "output");
    const images = record.deliveredImages;
    if (images) this.#images.add(images, model);
    const upstream = routing.target?.upstream.id ?? "";
    if (cost.actual !== undefined) {
      if (cost.actual > 0) this.#cost.add(cost.actual, model, upstream);
    } else if (outcome.status < 400) {
      this.#unknownCosts.add(1, model, upstream);
    }
  }

  observeOther({ route, status }: OtherRequest): void {
    this.#otherRequests.add(1, route, statusText(status));
  }

  observeBatch(requests: number): void {
    this.#batches.observe(requests, undefined);
  }

  snapshot(): MetricSnapshot[] {
    return [
      this.#requests,
      this.#duration,
      this.#stages,
      this.#attempts,
      this.#attemptDuration,
      this.#tokens,
      this.#images,
      this.#cost,
      this.#unknownCosts,
      this.#inputs,
      this.#batches,
      this.#otherRequests,
    ].map((instrument) => instrument.snapshot());
  }

  #observeAttempts(
    { startedAt, outcome, routing }: RequestRecord,
    attempts: readonly TimedAttempt[],
    request: ObservedRequest,
  ): void {
    for (const attempt of attempts) {
      const { target, endedAt, error } = attempt;
      const upstream = target.upstream.id;
      const model = targetLabel(target.model, target.surface);
      const isWinner = target === routing.target && outcome.error === undefined;
      const result = error ?? (endedAt === undefined && !isWinner ? canceled : "success");
      this.#attempts.add(1, upstream, model, result);
      if (result === canceled) continue;
      const endsAt = endedAt ?? startedAt + outcome.latencyMs;
      const ms = endsAt - attempt.startedAt - attempt.queuedMs;
      this.#attemptDuration.observe(Math.max(0, ms) / 1000, request, upstream, model);
    }
  }
}

/** The label `model` of a target. A model of one upstream may be two targets, which differ in their API. */
export const targetLabel = (model: string, surface: string | null | undefined): string =>
  surface ? `${model} (${surface})` : model;

const observedRequest = ({ requestId, trace, at, outcome }: RequestRecord): ObservedRequest => ({
  requestId,
  traceId: trace?.isSampled ? trace.traceId : undefined,
  at: at + outcome.latencyMs,
});

const statusTexts = new Map<number, string>();

/** Without a new string for each request. */
function statusText(status: number): string {
  const known = statusTexts.get(status);
  if (known !== undefined) return known;
  const text = String(status);
  statusTexts.set(status, text);
  return text;
}
