import type { RequestDetail } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { milliseconds } from "../../lib/format.ts";
import { barsOf } from "./timeline-bars.ts";

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
                  className={bar.color}
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
