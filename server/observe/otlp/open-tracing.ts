/**
 * OpenTelemetry traces over OTLP/HTTP: continues the trace of the client's `traceparent`, decides on sampling and
 * exports spans. This file and the packages that it imports are loaded only if a collector is configured. A slow or
 * unreachable collector loses spans and never a request: at most `maxPendingSpans` wait for it.
 */

import { TraceFlags } from "@opentelemetry/api";
import { ExportResultCode, parseTraceParent } from "@opentelemetry/core";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace";
import type { Log } from "../../lib/log.ts";
import { withTimeout } from "../../lib/timers.ts";
import type { RequestRecord } from "../../request/request-record.ts";
import { RequestTrace, type StartTrace, type TraceContext } from "../../request/request-trace.ts";
import { reportExports } from "./report-exports.ts";
import { requestSpans } from "./request-spans.ts";
import { telemetryOrigin } from "./resource.ts";

interface TracingOptions {
  /** The base URL of the collector. */
  readonly endpoint: string;
  readonly protocol: "http/protobuf" | "http/json";
  /** A name of OTEL_TRACES_SAMPLER, and the share of OTEL_TRACES_SAMPLER_ARG. */
  readonly sampler: string;
  readonly share: number;
  readonly version: string;
  readonly replica: string;
  readonly log: Log;
  readonly random: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

interface TraceCounts {
  /** Spans that the collector accepted. */
  readonly exported: number;
  /** Spans that the collector refused, or did not respond to. */
  readonly failed: number;
  /** Requests whose spans were dropped, because too many others were waiting. */
  readonly droppedRequests: number;
}

/** Spans that wait for the collector or are being sent to it. */
const maxPendingSpans = 4096;
/** Batches are small, because the thread that serves requests also serializes them. */
const batchSpans = 256;
const batchDelayMs = 5000;
const exportTimeoutMs = 10_000;
const closeTimeoutMs = 2000;
/** Unsampled requests with an error that are traced each second: tracing must not add much CPU load to an outage. */
const maxErrorsPerSecond = 50;

export type Tracing = ReturnType<typeof openTracing>;

export function openTracing(options: TracingOptions) {
  const { endpoint, protocol, version, replica, log, random, clock } = options;
  const counts = { exported: 0, failed: 0, droppedRequests: 0 };
  let pending = 0;
  const Exporter = protocol === "http/json" ? JsonExporter : ProtobufExporter;
  const exporter = new Exporter({
    url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    timeoutMillis: exportTimeoutMs,
  });
  const report = reportExports({
    onFailed: (reason) => log.warn("traces-not-exported", { reason }),
    onRecovered: () => log.warn("traces-recovered"),
  });
  const countingExporter: SpanExporter = {
    export: (spans, onResult) =>
      exporter.export(spans, (result) => {
        pending -= spans.length;
        const isExported = result.code === ExportResultCode.SUCCESS;
        counts[isExported ? "exported" : "failed"] += spans.length;
        report(isExported, result.error);
        onResult(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
  const processor = new BatchSpanProcessor({
    exporter: countingExporter,
    // Never reached: `observe` drops the spans of whole requests first.
    maxQueueSize: 2 * maxPendingSpans,
    maxExportBatchSize: batchSpans,
    scheduledDelayMillis: batchDelayMs,
    exportTimeoutMillis: exportTimeoutMs + 1000,
  });
  const origin = telemetryOrigin(version, replica);
  const mayTraceError = errorBudget(clock);
  return {
    start: createStartTrace(samplingOf(options), random),
    /** Exports the spans of a request that was sampled, or that ended with a server error. */
    observe: (record: RequestRecord): void => {
      const { trace, outcome } = record;
      if (!trace) return;
      if (!trace.isSampled && (outcome.status < 500 || !mayTraceError())) return;
      if (pending >= maxPendingSpans) {
        counts.droppedRequests++;
        return;
      }
      const spans = requestSpans(record, trace, clock(), origin);
      pending += spans.length;
      for (const span of spans) processor.onEnd(span);
    },
    counts: (): TraceCounts => counts,
    /** Exports the waiting spans, within a bounded time. */
    close: async (): Promise<void> => {
      // The last spans may fail, too.
      await withTimeout(Promise.allSettled([processor.shutdown()]), closeTimeoutMs);
    },
  };
}

function errorBudget(clock: () => number): () => boolean {
  let secondStartedAt = 0;
  let traced = 0;
  return () => {
    if (clock() - secondStartedAt >= 1000) {
      secondStartedAt = clock();
      traced = 0;
    }
    return ++traced <= maxErrorsPerSecond;
  };
}

interface SamplingOptions {
  /** Follow the client's decision, if it sent one. */
  readonly isParentBased: boolean;
  /** The share of all other requests that is sampled. */
  readonly ratio: number;
}

const samplingOf = ({ sampler, share }: TracingOptions): SamplingOptions => ({
  isParentBased: sampler.startsWith("parentbased_"),
  ratio: sampler.endsWith("traceidratio") ? share : Number(sampler.endsWith("always_on")),
});

/**
 * Starts the trace of a request: continues the client's trace (W3C Trace Context), and decides on sampling. `random`:
 * at least 0, below 1.
 */
function createStartTrace(sampling: SamplingOptions, random: () => number): StartTrace {
  // Samples by the last digits of the trace id, which are random even if the id begins with the time. The sampler of
  // the SDK reads all digits one by one, which is too slow for every request.
  const sampledBelow = sampling.ratio * 2 ** 32;
  const isSampled = (traceId: string): boolean =>
    Number.parseInt(traceId.slice(24), 16) < sampledBelow;
  const newSpanId = spanIds(random);
  return (requestId, headers) => {
    const traceparent = headers?.get("traceparent");
    const parent = traceparent && parseTraceParent(traceparent);
    if (!parent) return new RequestTrace(rootContext(requestId, isSampled), newSpanId);
    const { traceId, spanId, traceFlags } = parent;
    const isParentSampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
    return new RequestTrace(
      {
        traceId,
        parentSpanId: spanId,
        isSampled: sampling.isParentBased ? isParentSampled : isSampled(traceId),
        traceState: validTraceState(headers?.get("tracestate")),
      },
      newSpanId,
    );
  };
}

/** A request id is `req_` and a UUID of version 7, whose digits are a valid trace id: one search finds both. */
function rootContext(requestId: string, isSampled: (traceId: string) => boolean): TraceContext {
  const traceId = requestId.slice(4, 36);
  return {
    traceId,
    parentSpanId: undefined,
    isSampled: isSampled(traceId),
    traceState: undefined,
  };
}

/** The W3C's bound. A longer `tracestate` is dropped, as the standard allows. */
const maxTraceStateLength = 512;

const validTraceState = (text: string | null | undefined): string | undefined =>
  text && text.length <= maxTraceStateLength && /^[\x20-\x7e]+$/.test(text) ? text : undefined;

/** A random prefix for each process and a counter: as unique as random ids, without a random number for each. */
function spanIds(random: () => number): () => string {
  const hex = (value: number): string => value.toString(16).padStart(8, "0");
  const prefix = hex(1 + Math.floor(random() * 0xffff_fffe));
  let count = Math.floor(random() * 0xffff_ffff);
  return () => {
    count = (count + 1) >>> 0;
    return `${prefix}${hex(count)}`;
  };
}
