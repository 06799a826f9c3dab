import type { RequestDetail } from "../../../../contract/admin.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { classNames } from "../../lib/class-names.ts";
import { milliseconds } from "../../lib/format.ts";

interface Bar {
  readonly key: string;
  readonly label: string;
  readonly detail: string;
  readonly startMs: number;
  readonly durationMs: number;
  readonly color: string;
}

const colors = { ok: "fill-good", failed: "fill-bad", canceled: "fill-muted", queued: "fill-warn" };

function barsOf(request: RequestDetail, t: Translate): Bar[] {
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
  return [...queued, ...attempts];
}

/** The error response of the upstream: its status, its code and the vendor's id of the request. */
function upstreamFacts(attempt: RequestDetail["timeline"][number], t: Translate): string[] {
  const { upstream_status: status, upstream_code: code, upstream_request_id: id } = attempt;
  return [
    ...(status === null ? [] : [`HTTP ${status}${code === null ? "" : ` ${code}`}`]),
    ...(id === null ? [] : [t("request.timeline.vendorId", { id })]),
  ];
}

/** Bars on one time axis, from the arrival to the response. The same facts are text beside each bar. */
export function RequestTimeline({ request }: { request: RequestDetail }) {
  const t = useT();
  const bars = barsOf(request, t);
  const isCached = request.cached_inputs !== null && request.cached_inputs > 0;
  const totalMs = Math.max(
    request.latency_ms,
    ...bars.map(({ startMs, durationMs }) => startMs + durationMs),
    0.1,
  );
  const upstreamMs = Math.max(
    0,
    ...request.timeline.map(({ start_ms, duration_ms }) => start_ms + duration_ms),
  );
  const firstMs = Math.min(...request.timeline.map(({ start_ms }) => start_ms), upstreamMs);
  const gatewayMs = Math.max(0, request.latency_ms - (upstreamMs - firstMs) - request.queued_ms);
  return (
    <div className="flex flex-col gap-3 p-4">
      {isCached && (
        <p>
          {t("request.timeline.cached", {
            cached: request.cached_inputs ?? 0,
            inputs: request.inputs ?? "–",
          })}
        </p>
      )}
      {bars.length === 0 ? (
        <p className="text-muted">
          {request.attempts > 0
            ? t("request.timeline.unrecorded", { count: request.attempts })
            : t("request.timeline.none")}
        </p>
      ) : (
        <ol className="flex flex-col gap-3">
          {bars.map((bar) => (
            <li key={bar.key} className="grid gap-1 sm:grid-cols-[16rem_1fr] sm:gap-3">
              <div className="min-w-0">
                <p className="truncate font-medium" title={bar.label}>
                  {bar.label}
                </p>
                <p className="text-xs text-muted">{bar.detail}</p>
              </div>
              <svg
                aria-hidden="true"
                viewBox="0 0 1000 20"
                preserveAspectRatio="none"
                className="h-5 w-full self-center rounded bg-sunken"
              >
                <rect
                  x={(bar.startMs / totalMs) * 1000}
                  width={Math.max(4, (bar.durationMs / totalMs) * 1000)}
                  height={20}
                  className={classNames(bar.color)}
                />
              </svg>
            </li>
          ))}
        </ol>
      )}
      {bars.length > 0 && (
        <div className="flex justify-between text-xs text-muted tabular-nums sm:ml-[16.75rem]">
          <span>{milliseconds(0)}</span>
          <span>{milliseconds(totalMs)}</span>
        </div>
      )}
      {/* Without the times of its attempts, the gateway's part of the latency is unknown. */}
      {(request.attempts === 0 || request.timeline.length > 0) && (
        <p className="text-muted">
          {t("request.timeline.gateway", { time: milliseconds(gatewayMs) })}
        </p>
      )}
    </div>
  );
}
