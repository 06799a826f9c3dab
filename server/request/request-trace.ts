/**
 * The trace context of a request and its propagation (W3C Trace Context, `traceparent`): its trace ID, its own span,
 * and the spans of its attempts.
 */

/** The headers that carry a trace context to an upstream: `traceparent` and, if the client sent it, `tracestate`. */
export type TraceHeaders = Readonly<Record<string, string>>;

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The span of the client that sent the request. Undefined if the request is the root of its trace. */
  readonly parentSpanId: string | undefined;
  /** Head sampling: the spans of the request are exported, and upstreams are asked to record theirs. */
  readonly isSampled: boolean;
  /** The client's `tracestate`, passed on unchanged. */
  readonly traceState: string | undefined;
}

export class RequestTrace implements TraceContext {
  readonly traceId: string;
  readonly parentSpanId: string | undefined;
  readonly isSampled: boolean;
  readonly traceState: string | undefined;
  readonly newSpanId: () => string;
  #spanId: string | undefined;

  constructor(context: TraceContext, newSpanId: () => string) {
    this.traceId = context.traceId;
    this.parentSpanId = context.parentSpanId;
    this.isSampled = context.isSampled;
    this.traceState = context.traceState;
    this.newSpanId = newSpanId;
  }

  /** The span of the request. Most requests are not sampled and never need it. */
  get spanId(): string {
    this.#spanId ??= this.newSpanId();
    return this.#spanId;
  }

  /** The trace of a request that is part of this one. */
  child(): RequestTrace {
    const { traceId, isSampled, traceState, spanId } = this;
    return new RequestTrace(
      { traceId, isSampled, traceState, parentSpanId: spanId },
      this.newSpanId,
    );
  }

  /** The headers of an upstream request that belongs to the span `spanId`. */
  headersOf(spanId: string): TraceHeaders {
    const traceparent = `00-${this.traceId}-${spanId}-0${this.isSampled ? 1 : 0}`;
    return this.traceState === undefined
      ? { traceparent }
      : { traceparent, tracestate: this.traceState };
  }
}

/** Starts the trace of a request. `headers`: absent for a request of the gateway itself. */
export type StartTrace = (
  requestId: string,
  headers?: { get(name: string): string | null },
) => RequestTrace;
