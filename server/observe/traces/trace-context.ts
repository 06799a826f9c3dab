/** Starts the trace of a request: continues that of the client (W3C Trace Context), and decides on sampling. */
import { TraceFlags } from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";
import { RequestTrace, type StartTrace, type TraceContext } from "../../request/request-trace.ts";

export interface SamplingOptions {
  /** Follow the client's decision, if it sent one. */
  readonly isParentBased: boolean;
  /** The share of the other requests that are sampled. */
  readonly ratio: number;
}

/** `random`: at least 0, below 1. */
export function createStartTrace(sampling: SamplingOptions, random: () => number): StartTrace {
  // By the last digits, which are random also in ids that begin with the time. The sampler of the SDK reads all digits
  // one by one, for which this path is too hot.
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

/** The W3C's bound. A longer one is dropped, as the standard allows. */
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
