/** The bars of a request's timeline: its queue, its attempts, and the waits between them. */
import type { RequestDetail } from "../../../../contract/admin.ts";
import type { Translate } from "../../i18n/messages.ts";
import { milliseconds } from "../../lib/format.ts";

export interface Bar {
  readonly key: string;
  readonly label: string;
  readonly detail: string;
  readonly startMs: number;
  readonly durationMs: number;
  readonly color: string;
}

const colors = { ok: "fill-good", failed: "fill-bad", canceled: "fill-muted", queued: "fill-warn" };

export function barsOf(request: RequestDetail, t: Translate): Bar[] {
  const queued: Bar[] =
    request.queued_ms > 0
      ? [
          {
            key: "queue",
            label: t("request.timeline.queued"),
            detail: milliseconds(request.queued_ms),
            startMs: 0,
            durationMs: request.queued_ms,
            color: colors.queued,
          },
        ]
      : [];
  const attempts = request.timeline.map((attempt, at): Bar => {
    const { target, error, is_hedge, queued_ms, duration_ms } = attempt;
    const detail = [
      milliseconds(duration_ms),
      error ?? t("request.timeline.ok"),
      ...upstreamFacts(attempt, t),
      ...(is_hedge ? [t("request.timeline.hedge")] : []),
      ...(queued_ms > 0
        ? [t("request.timeline.targetQueue", { time: milliseconds(queued_ms) })]
        : []),
    ];
    const failure = error === "canceled" ? "canceled" : "failed";
    const outcome = error === null ? "ok" : failure;
    return {
      key: `${at} ${target}`,
      label: target,
      detail: detail.join(" · "),
      startMs: attempt.start_ms,
      durationMs: duration_ms,
      color: colors[outcome],
    };
  });
  return [...queued, ...withWaits(attempts, request.timeline, t)];
}

/** Shorter waits are the time that the selection of the next target takes. */
const minWaitMs = 1;

/** The waits before attempts that began after all earlier ones had ended. */
function withWaits(
  bars: readonly Bar[],
  timeline: RequestDetail["timeline"],
  t: Translate,
): readonly Bar[] {
  let endMs = Number.POSITIVE_INFINITY;
  return bars.flatMap((bar, at) => {
    const durationMs = bar.startMs - endMs;
    const wait: Bar = {
      key: `wait ${at}`,
      label: t(
        timeline[at]?.selection?.by === "retry"
          ? "request.timeline.retryWait"
          : "request.timeline.wait",
      ),
      detail: milliseconds(durationMs),
      startMs: endMs,
      durationMs,
      color: colors.queued,
    };
    const latest = bar.startMs + bar.durationMs;
    endMs = endMs === Number.POSITIVE_INFINITY ? latest : Math.max(endMs, latest);
    return durationMs >= minWaitMs ? [wait, bar] : [bar];
  });
}

/** The error response of the upstream: its status, its code and the vendor's id of the request. */
function upstreamFacts(attempt: RequestDetail["timeline"][number], t: Translate): string[] {
  const { upstream_status: status, upstream_code: code, upstream_request_id: id } = attempt;
  return [
    ...(status === null ? [] : [`HTTP ${status}${code === null ? "" : ` ${code}`}`]),
    ...(id === null ? [] : [t("request.timeline.vendorId", { id })]),
  ];
}
