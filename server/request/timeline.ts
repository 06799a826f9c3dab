/**
 * The timeline of a request: how long it was queued, and its attempts with their times. It is stored in the ledger row
 * as compact JSON: one successful attempt takes 20 bytes, a cached request none.
 */

import type { SelectionReason } from "../../contract/admin/constants.ts";
import type { UpstreamErrorResponse } from "../lib/gateway-error.ts";
import type { Deviations, Target } from "../upstream/contract.ts";
import { recordedVendorMessage } from "./recorded-message.ts";

export interface AttemptStart {
  readonly target: Target;
  /** Undefined if the attempt is not part of the timeline. */
  readonly startedAt: number | undefined;
  /** A hedged request: another attempt was running. */
  readonly isHedge?: boolean;
  /** Why the target was selected. If absent, it is not recorded. */
  readonly selection?: TargetSelection | undefined;
  /** The id of its span. If absent, tracing is off. */
  readonly spanId?: string | undefined;
}

/** An attempt at a target. Times are milliseconds of the monotonic clock. */
export interface TimedAttempt {
  readonly target: Target;
  readonly startedAt: number;
  readonly isHedge: boolean;
  /** If absent, it is not recorded. */
  readonly selection?: TargetSelection | undefined;
  /** Undefined if the attempt is running, or was canceled because another one has won. */
  endedAt: number | undefined;
  /** The error kind. */
  error: string | undefined;
  /** The time in the queue of the target, if the target has limits. */
  queuedMs: number;
  /** The error response of the target. If absent, the attempt succeeded, or there was no response. */
  upstream?: UpstreamErrorResponse | undefined;
  /** Why there was no response, for operators: the address and the code of the connection error. */
  reason?: string | undefined;
  /** The id of its span. If absent, tracing is off. */
  readonly spanId?: string | undefined;
}

/** Why a target was selected. */
export interface TargetSelection {
  readonly by: SelectionReason;
  /** The number of candidates that were compared. */
  readonly compared: number;
  /** Undefined if all targets of the model are in one tier. */
  readonly tier: number | undefined;
  /** The model has a tier before this one. */
  readonly isLaterTier: boolean;
  /** Of a failover or retry: the target that failed. */
  readonly failedTarget?: Target;
  /** Of a failover or retry: the error kind. */
  readonly failedWith?: string;
}

/** The most attempts in a timeline: a request that is split into hundreds of chunks has an attempt for each. */
export const maxTimedAttempts = 24;

/** The parts of a request record that its timeline is made from. */
interface TimelineSource {
  readonly startedAt: number;
  readonly queuedMs: number;
  readonly routing: {
    readonly target: Target | undefined;
    readonly timedAttempts: readonly TimedAttempt[] | undefined;
    readonly microBatchSize: number | undefined;
  };
  readonly deviations: Deviations;
  readonly outcome: { readonly latencyMs: number; readonly error: string | undefined };
}

export const canceled = "canceled";

/** Trailing values that are absent are left out. The target is absent if it is that of the ledger row. */
type AttemptValues = readonly [
  startMs: number,
  durationMs: number,
  error?: string,
  target?: string,
  queuedMs?: number,
  isHedge?: 0 | 1,
  upstreamStatus?: number,
  upstreamCode?: string,
  upstreamRequestId?: string,
  /** The vendor's message. Without a status: why there was no response. */
  upstreamMessage?: string,
];

/** Trailing values that are absent are left out. */
type SelectionValues = readonly [
  by?: SelectionReason,
  compared?: number,
  tier?: number | null,
  isLaterTier?: 0 | 1,
  failedTarget?: string,
  failedWith?: string,
];

/** The timeline as it is stored. A member without a value is absent. */
interface StoredTimeline {
  /** `queuedMs` of the request. */
  readonly q?: number;
  /** Attempts. */
  readonly a?: readonly AttemptValues[];
  /** Why the target of each attempt was selected, in the order of the attempts. If absent, none is recorded. */
  readonly s?: readonly SelectionValues[];
  /** The size of the shared micro-batch. */
  readonly b?: number;
  /** Adapted parameters. */
  readonly x?: readonly string[];
  /** Dropped parameters. */
  readonly d?: readonly string[];
}

/** null: nothing to store. This is the usual case of a cached request, and it allocates nothing. */
export function writeTimeline(record: TimelineSource): string | null {
  const { timedAttempts, microBatchSize } = record.routing;
  const { adapted, dropped } = record.deviations;
  const { queuedMs } = record;
  if (!timedAttempts && queuedMs === 0 && !adapted?.length && !dropped?.length) return null;
  // JSON leaves out members that are undefined.
  return JSON.stringify({
    q: queuedMs > 0 ? inTenths(queuedMs) : undefined,
    a: timedAttempts?.map((attempt) => attemptValues(attempt, record)),
    s: timedAttempts?.some(({ selection }) => selection)
      ? timedAttempts.map(({ selection }) => selectionValues(selection))
      : undefined,
    b: microBatchSize,
    x: adapted?.length ? adapted : undefined,
    d: dropped?.length ? dropped : undefined,
  } satisfies { readonly [member in keyof StoredTimeline]: StoredTimeline[member] | undefined });
}

function attemptValues(attempt: TimedAttempt, record: TimelineSource): AttemptValues {
  const { target, startedAt, endedAt, queuedMs, isHedge } = attempt;
  const isOwnTarget = target === record.routing.target;
  // A streamed response ends after the row is written.
  const isWinner = isOwnTarget && record.outcome.error === undefined;
  const error = attempt.error ?? (endedAt === undefined && !isWinner ? canceled : "");
  const endsAt = endedAt ?? record.startedAt + record.outcome.latencyMs;
  const startMs = inTenths(startedAt - record.startedAt);
  const durationMs = inTenths(endsAt - startedAt);
  // The usual case.
  if (error === "" && isOwnTarget && queuedMs === 0 && !isHedge) return [startMs, durationMs];
  const values = [
    startMs,
    durationMs,
    error,
    isOwnTarget ? "" : targetName(target),
    inTenths(queuedMs),
    isHedge ? 1 : 0,
    attempt.upstream?.status ?? 0,
    attempt.upstream?.code ?? "",
    attempt.upstream?.requestId ?? "",
    messageOf(attempt),
  ] as const;
  const length = values.findLastIndex((value) => value !== "" && value !== 0) + 1;
  return values.slice(0, Math.max(2, length)) as unknown as AttemptValues;
}

function messageOf({ upstream, reason = "" }: TimedAttempt): string {
  if (!upstream) return reason;
  return upstream.message ? recordedVendorMessage(upstream.message) : "";
}

function selectionValues(selection: TargetSelection | undefined): SelectionValues {
  if (!selection) return [];
  const { by, compared, tier = null, isLaterTier, failedTarget, failedWith } = selection;
  if (failedTarget) {
    return [by, compared, tier, isLaterTier ? 1 : 0, targetName(failedTarget), failedWith ?? ""];
  }
  if (isLaterTier) return [by, compared, tier, 1];
  if (tier !== null) return [by, compared, tier];
  return compared > 1 ? [by, compared] : [by];
}

const inTenths = (ms: number): number => Math.round(Math.max(0, ms) * 10) / 10;

/** Why the target of an attempt was selected, as it is stored. */
export interface AttemptSelection extends Pick<TargetSelection, "by" | "compared" | "isLaterTier"> {
  readonly tier?: number;
  readonly failed?: { readonly target: string; readonly error: string };
}

/** Times are milliseconds since the arrival of the request. */
interface Timeline {
  readonly queuedMs: number;
  readonly attempts: readonly {
    readonly startMs: number;
    readonly durationMs: number;
    /** The error kind, or `canceled`. If absent, the attempt succeeded. */
    readonly error?: string;
    /** The default is the target of the ledger row. */
    readonly target?: string;
    readonly queuedMs: number;
    readonly isHedge: boolean;
    /** If absent, the attempt succeeded, or there was no error response. */
    readonly upstream?: UpstreamErrorResponse;
    /** Why there was no response. If absent, there was one, or the reason is not known. */
    readonly reason?: string;
    /** If absent, it is not recorded. */
    readonly selection?: AttemptSelection;
  }[];
  readonly microBatchSize?: number;
  readonly adapted: readonly string[];
  readonly dropped: readonly string[];
}

export function readTimeline(text: string | null): Timeline {
  const { q = 0, a = [], s = [], b, x = [], d = [] } = parse(text);
  return {
    queuedMs: q,
    attempts: a.map((values, at) => readAttempt(values, s[at] ?? [])),
    ...(b !== undefined && { microBatchSize: b }),
    adapted: x,
    dropped: d,
  };
}

function readAttempt(
  values: AttemptValues,
  selection: SelectionValues,
): Timeline["attempts"][number] {
  const [startMs, durationMs, error, target, queuedMs = 0, isHedge = 0, ...upstream] = values;
  const [status, code, requestId, message] = upstream;
  return {
    startMs,
    durationMs,
    ...(error && { error }),
    ...(target && { target }),
    queuedMs,
    isHedge: isHedge === 1,
    ...(status && {
      upstream: {
        status,
        ...(code && { code }),
        ...(requestId && { requestId }),
        ...(message && { message }),
      },
    }),
    ...(!status && message && { reason: message }),
    ...readSelection(selection),
  };
}

function readSelection([
  by,
  compared = 1,
  tier,
  isLaterTier,
  failedTarget,
  failedWith = "",
]: SelectionValues): Pick<Timeline["attempts"][number], "selection"> {
  if (!by) return {};
  return {
    selection: {
      by,
      compared,
      ...(typeof tier === "number" && { tier }),
      isLaterTier: isLaterTier === 1,
      ...(failedTarget && { failed: { target: failedTarget, error: failedWith } }),
    },
  };
}

/** A damaged timeline must not hide the rest of the ledger row. */
function parse(text: string | null): StoredTimeline {
  try {
    return (JSON.parse(text ?? "{}") ?? {}) as StoredTimeline;
  } catch {
    return {};
  }
}

/** A target by the names of its upstream and of its model there, for operators. */
export const targetName = ({ upstream, model, surface }: Target): string =>
  `${upstream.id}/${model}${surface ? ` (${surface})` : ""}`;
