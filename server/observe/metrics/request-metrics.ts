/** Counts finished requests: one function observes a request record, whatever happened to the request. */
import { isRefused } from "../../../contract/errors.ts";
import type { RequestRecord } from "../../request/request-record.ts";
import { canceled } from "../../request/timeline.ts";
import { visitStages } from "../stage-times.ts";
import { visitAttempts } from "./attempt-outcomes.ts";
import { Counter, Histogram } from "./instruments.ts";
import type { MetricSnapshot } from "./metric-snapshot.ts";

/** The histogram buckets of latencies, in seconds. Cached embeddings take under a millisecond, images minutes. */
const secondsBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
];

/** A request that is not for a model, such as `GET /healthz`. */
interface OtherRequest {
  readonly route: string;
  readonly status: number;
}

export class RequestMetrics {
  readonly #requests = new Counter({
    name: "vexel_requests",
    help: "Finished requests for a model. error: an error kind, empty for success.",
    labelNames: ["endpoint", "model", "status", "error"],
  });
  readonly #refused = new Counter({
    name: "vexel_refused_requests",
    help: "Those of vexel_requests that the gateway refused by parameters, permissions, limits or budgets, before any upstream request. error: the error kind.",
    labelNames: ["endpoint", "model", "error"],
  });
  readonly #duration = new Histogram({
    name: "vexel_request_duration_seconds",
    help: "Time from the arrival of a request for a model until its response is complete, before the ledger row is written and the last byte is sent.",
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
    help: "Attempts at a target. outcome: success, canceled, or an error kind.",
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
  readonly #microBatches = new Histogram({
    name: "vexel_batch_requests",
    help: "Requests per micro-batch, of batches with at least two.",
    labelNames: [],
    bounds: [2, 4, 8, 16, 32, 64],
  });
  readonly #otherRequests = new Counter({
    name: "vexel_http_requests",
    help: "HTTP requests that are not for a model.",
    labelNames: ["route", "status"],
  });

  /** `endedAt`: after the ledger row was written. Milliseconds, monotonic. */
  observe(record: RequestRecord, endedAt: number): void {
    const { endpoint, model = "", outcome, embeddings, usage, knownCost, routing } = record;
    this.#requests.add(1, endpoint, model, String(outcome.status), outcome.error ?? "");
    if (isRefused(outcome.error, routing.attempts))
      this.#refused.add(1, endpoint, model, outcome.error ?? "");
    this.#duration.observe(outcome.latencyMs / 1000, endpoint, model);
    visitStages(record, endedAt, (stage, from, to) =>
      this.#stages.observe((to - from) / 1000, endpoint, stage),
    );
    if (routing.timedAttempts) this.#observeAttempts(record);
    const { inputs, sentInputs } = embeddings;
    const { cachedInputs } = record;
    if (cachedInputs > 0) this.#inputs.add(cachedInputs, model, "cache");
    if (sentInputs > 0) this.#inputs.add(Math.min(inputs, sentInputs), model, "upstream");
    if (usage?.inputTokens) this.#tokens.add(usage.inputTokens, model, "input");
    if (usage?.outputTokens) this.#tokens.add(usage.outputTokens, model, "output");
    const images = record.deliveredImages;
    if (images) this.#images.add(images, model);
    if (knownCost === undefined) {
      if (outcome.status < 400) this.#unknownCosts.add(1, model, upstreamOf(record));
    } else if (knownCost > 0) {
      this.#cost.add(knownCost, model, upstreamOf(record));
    }
  }

  observeOther({ route, status }: OtherRequest): void {
    this.#otherRequests.add(1, route, String(status));
  }

  observeMicroBatch(requests: number): void {
    this.#microBatches.observe(requests);
  }

  snapshot(): MetricSnapshot[] {
    return [
      this.#requests,
      this.#refused,
      this.#duration,
      this.#stages,
      this.#attempts,
      this.#attemptDuration,
      this.#tokens,
      this.#images,
      this.#cost,
      this.#unknownCosts,
      this.#inputs,
      this.#microBatches,
      this.#otherRequests,
    ].map((instrument) => instrument.snapshot());
  }

  #observeAttempts(record: RequestRecord): void {
    visitAttempts(record, (target, outcome, seconds) => {
      const upstream = target.upstream.id;
      const model = targetLabel(target.model, target.surface);
      this.#attempts.add(1, upstream, model, outcome);
      if (outcome !== canceled) this.#attemptDuration.observe(seconds, upstream, model);
    });
  }
}

/** The label `model` of a target. A model of one upstream may be two targets, which differ in their API. */
export const targetLabel = (model: string, surface: string | null | undefined): string =>
  surface ? `${model} (${surface})` : model;

const upstreamOf = ({ routing }: RequestRecord): string => routing.target?.upstream.id ?? "";
