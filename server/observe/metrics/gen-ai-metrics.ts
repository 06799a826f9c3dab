/**
 * The metrics of the GenAI semantic conventions of OpenTelemetry, which only the OTLP export has. Their labels are
 * attributes; an empty one is left out. The conventions define the bounds of the buckets.
 */
import type { RequestRecord } from "../../request/request-record.ts";
import { canceled } from "../../request/timeline.ts";
import { operationName, providerName } from "../gen-ai-names.ts";
import { success, visitAttempts } from "./attempt-outcomes.ts";
import { Histogram } from "./instruments.ts";
import type { MetricSnapshot } from "./metric-snapshot.ts";

const secondsBounds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const tokenBounds = Array.from({ length: 14 }, (_, index) => 4 ** index);
const common = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"];
/** The provider of a request that no upstream has served: its response was cached, or it was refused. */
const ownProvider = "vexel";

export class GenAiMetrics {
  readonly #requests = new Histogram({
    name: "gen_ai.server.request.duration",
    help: "Time from the arrival of a request until its response is complete.",
    labelNames: [...common, "error.type", "http.route"],
    bounds: secondsBounds,
  });
  readonly #attempts = new Histogram({
    name: "gen_ai.client.operation.duration",
    help: "Time of an attempt at an upstream that was not canceled.",
    labelNames: [...common, "error.type"],
    bounds: secondsBounds,
  });
  readonly #tokens = new Histogram({
    name: "gen_ai.client.token.usage",
    help: "Tokens of a request as its upstream reported them, without cached inputs.",
    labelNames: [...common, "gen_ai.token.type"],
    bounds: tokenBounds,
  });

  observe(record: RequestRecord): void {
    const { endpoint, model = "", route = "", outcome, routing } = record;
    const operation = operationName(endpoint);
    const provider = routing.target ? providerName(routing.target) : ownProvider;
    const seconds = outcome.latencyMs / 1000;
    const labels = [operation, provider, model, outcome.error ?? "", route];
    this.#requests.observe(seconds, ...labels);
    visitAttempts(record, (target, result, seconds) => {
      if (result === canceled) return;
      const error = result === success ? "" : result;
      this.#attempts.observe(seconds, operation, providerName(target), target.model, error);
    });
    if (!routing.target) return;
    const common = [operation, provider, routing.target.model];
    const input = endpoint === "embeddings" ? record.upstreamTokens : record.usage?.inputTokens;
    const output = record.usage?.outputTokens;
    if (input) this.#tokens.observe(input, ...common, "input");
    if (output) this.#tokens.observe(output, ...common, "output");
  }

  snapshot(): MetricSnapshot[] {
    return [this.#requests, this.#attempts, this.#tokens].map((each) => each.snapshot());
  }
}
