/** A span of a finished request, as the exporter of the OpenTelemetry SDK reads it. */
import {
  type Attributes,
  type HrTime,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";
import type { InstrumentationScope } from "@opentelemetry/core";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";

/** What all spans of this process have in common. */
export interface SpanOrigin {
  readonly resource: Resource;
  readonly instrumentationScope: InstrumentationScope;
}

export interface SpanValues {
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

const none: never[] = [];

export class FinishedSpan implements ReadableSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parentSpanContext?: SpanContext;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly duration: HrTime;
  readonly status: SpanStatus;
  readonly attributes: Attributes;
  readonly resource: Resource;
  readonly instrumentationScope: InstrumentationScope;
  readonly links = none;
  readonly events = none;
  readonly ended = true;
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly #context: SpanContext;

  constructor(values: SpanValues, origin: SpanOrigin) {
    const { traceId, spanId, parentSpanId, startedAt, endedAt } = values;
    this.name = values.name;
    this.kind = values.kind;
    this.#context = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
    if (parentSpanId !== undefined) {
      this.parentSpanContext = {
        traceId,
        spanId: parentSpanId,
        traceFlags: TraceFlags.SAMPLED,
        isRemote: values.isParentRemote === true,
      };
    }
    this.startTime = hrTime(startedAt);
    this.endTime = hrTime(endedAt);
    this.duration = hrTime(endedAt - startedAt);
    this.status = { code: values.isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET };
    this.attributes = values.attributes;
    this.resource = origin.resource;
    this.instrumentationScope = origin.instrumentationScope;
  }

  readonly spanContext = (): SpanContext => this.#context;
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}

export { SpanKind };
