/**
 * The spans of a finished request: one for the request, one for each stage and one for each attempt, with the GenAI
 * semantic conventions. Attributes are names, counts and error kinds; never a key, a prompt or a message.
 */
import {
  type Attributes,
  type HrTime,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { RequestRecord } from "../../request/request-record.ts";
import type { RequestTrace } from "../../request/request-trace.ts";
import { canceled, type TimedAttempt } from "../../request/timeline.ts";
import type { Target, Upstream } from "../../upstream/contract.ts";
import { kinds } from "../../upstream/kinds.ts";
import { operationName, providerName } from "../gen-ai-names.ts";
import { visitStages } from "../stage-times.ts";
import type { TelemetryOrigin } from "./resource.ts";

/** `endedAt`: after the ledger row was written. Milliseconds, monotonic. */
export function requestSpans(
  record: RequestRecord,
  trace: RequestTrace,
  endedAt: number,
  origin: TelemetryOrigin,
): ReadableSpan[] {
  const unixTime = (monotonic: number): number => record.at + (monotonic - record.startedAt);
  const spans = [finishedSpan(requestSpan(record, trace, unixTime(endedAt)), origin)];
  const childOf = (values: Pick<SpanValues, "name" | "startedAt" | "endedAt">): SpanValues => ({
    kind: SpanKind.INTERNAL,
    traceId: trace.traceId,
    spanId: trace.newSpanId(),
    parentSpanId: trace.spanId,
    isError: false,
    attributes: {},
    ...values,
  });
  visitStages(record, endedAt, (stage, from, to) => {
    // The spans of the attempts show this stage.
    if (stage === "upstream") return;
    const times = { startedAt: unixTime(from), endedAt: unixTime(to) };
    spans.push(finishedSpan(childOf({ name: stage, ...times }), origin));
  });
  for (const attempt of record.routing.timedAttempts ?? []) {
    const attemptEnd = attempt.endedAt ?? record.startedAt + record.outcome.latencyMs;
    const error = errorOf(attempt, record);
    const values = childOf({
      name: `${operationName(record.endpoint)} ${attempt.target.model}`,
      startedAt: unixTime(attempt.startedAt),
      endedAt: unixTime(attemptEnd),
    });
    const span: SpanValues = {
      ...values,
      kind: SpanKind.CLIENT,
      spanId: attempt.spanId ?? values.spanId,
      isError: error !== undefined && error !== canceled,
      attributes: attemptAttributes(attempt, record, error),
    };
    spans.push(finishedSpan(span, origin));
  }
  return spans;
}

function requestSpan(record: RequestRecord, trace: RequestTrace, endedAt: number): SpanValues {
  const { outcome, model, routing } = record;
  const operation = operationName(record.endpoint);
  return {
    name: model === undefined ? operation : `${operation} ${model}`,
    // The moderation of a prompt is a request of the gateway itself.
    kind: record.endpoint === "moderations" ? SpanKind.CLIENT : SpanKind.SERVER,
    traceId: trace.traceId,
    spanId: trace.spanId,
    parentSpanId: trace.parentSpanId,
    isParentRemote: record.endpoint !== "moderations",
    startedAt: record.at,
    endedAt,
    isError: outcome.status >= 500,
    attributes: {
      ...commonAttributes(record, routing.target, model),
      ...usageAttributes(record),
      ...(outcome.error !== undefined && { "error.type": outcome.error }),
      ...(record.route !== undefined && {
        "http.request.method": "POST",
        "http.route": record.route,
      }),
      "http.response.status_code": outcome.status,
      "vexel.request_id": record.requestId,
      ...(record.caller && { "vexel.key_id": record.caller.id }),
      ...(record.caller?.project !== undefined && { "vexel.project": record.caller.project }),
      ...(record.knownCost !== undefined && { "vexel.cost_dollars": record.knownCost }),
      "vexel.attempts": routing.attempts,
      ...(routing.microBatchSize !== undefined && {
        "vexel.batch_requests": routing.microBatchSize,
      }),
    },
  };
}

function commonAttributes(
  record: RequestRecord,
  target: Target | undefined,
  model: string | undefined,
): Attributes {
  const operation = operationName(record.endpoint);
  return {
    "gen_ai.operation.name": operation,
    ...(operation === "generate_content" && { "gen_ai.output.type": "image" }),
    ...(model !== undefined && { "gen_ai.request.model": model }),
    ...(target && { "gen_ai.provider.name": providerName(target) }),
  };
}

function usageAttributes({
  usage,
  embeddings,
  cachedInputs,
  images,
  deliveredImages,
}: RequestRecord): Attributes {
  const { inputTokens, outputTokens } = usage ?? {};
  return {
    ...(inputTokens !== undefined && { "gen_ai.usage.input_tokens": inputTokens }),
    ...(outputTokens !== undefined && { "gen_ai.usage.output_tokens": outputTokens }),
    ...(embeddings.inputs > 0 && {
      "vexel.inputs": embeddings.inputs,
      "vexel.cached_inputs": cachedInputs,
    }),
    ...(deliveredImages !== undefined && {
      "gen_ai.request.choice.count": images.requested,
      "vexel.images": deliveredImages,
    }),
  };
}

function attemptAttributes(
  attempt: TimedAttempt,
  record: RequestRecord,
  error: string | undefined,
): Attributes {
  const { target, queuedMs, isHedge } = attempt;
  const { upstreamTokens } = record;
  // The tokens of a split request belong to several attempts.
  const isOnlyAttempt = record.routing.attempts === 1 && error === undefined;
  return {
    ...commonAttributes(record, target, target.model),
    ...serverAttributes(target.upstream),
    ...(isOnlyAttempt && upstreamTokens && { "gen_ai.usage.input_tokens": upstreamTokens }),
    ...(error !== undefined && { "error.type": error }),
    "vexel.upstream": target.upstream.id,
    ...(queuedMs > 0 && { "vexel.queued_ms": queuedMs }),
    ...(isHedge && { "vexel.is_hedge": true }),
  };
}

function errorOf(
  { target, endedAt, error }: TimedAttempt,
  { routing, outcome }: RequestRecord,
): string | undefined {
  const isWinner = target === routing.target && outcome.error === undefined;
  return error ?? (endedAt === undefined && !isWinner ? canceled : undefined);
}

/** Host and port only: the rest of a URL may contain a credential. */
function serverAttributes(upstream: Upstream): Attributes {
  const url = URL.parse(upstream.baseUrl ?? kinds.get(upstream.kind)?.baseUrl ?? "");
  return url
    ? {
        "server.address": url.hostname,
        "server.port": Number(url.port || (url.protocol === "https:" ? 443 : 80)),
      }
    : {};
}

interface SpanValues {
  readonly name: string;
  readonly kind: SpanKind;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** The parent is a span of the client. */
  readonly isParentRemote?: boolean;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly isError: boolean;
  readonly attributes: Attributes;
}

/** A span of a finished request, as the exporter of the OpenTelemetry SDK reads it. */
function finishedSpan(values: SpanValues, origin: TelemetryOrigin): ReadableSpan {
  const { name, kind, traceId, spanId, parentSpanId, startedAt, endedAt, attributes } = values;
  const context: SpanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
  const isRemote = values.isParentRemote === true;
  return {
    name,
    kind,
    spanContext: () => context,
    ...(parentSpanId !== undefined && {
      parentSpanContext: { ...context, spanId: parentSpanId, isRemote },
    }),
    startTime: hrTime(startedAt),
    endTime: hrTime(endedAt),
    duration: hrTime(endedAt - startedAt),
    status: { code: values.isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes,
    ...origin,
    links: [],
    events: [],
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
