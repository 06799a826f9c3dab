/** The status of a job, and how many of its lines have ended. */
import type { ShownJob } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { count } from "../../lib/format.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";

const tones: Readonly<Record<ShownJob["status"], Tone>> = {
  validating: "accent",
  queued: "neutral",
  in_progress: "accent",
  paused: "warn",
  finalizing: "accent",
  cancelling: "warn",
  completed: "good",
  failed: "bad",
  expired: "bad",
  cancelled: "neutral",
};

export function JobStatus({ status }: Pick<ShownJob, "status">) {
  const t = useT();
  return <Badge tone={tones[status]}>{t(`jobs.status.${status}`)}</Badge>;
}

export function JobProgress({ job }: { job: ShownJob }) {
  const t = useT();
  const { lines, completed, failed } = job;
  const share = lines > 0 ? (completed + failed) / lines : 0;
  return (
    <div className="flex flex-col gap-0.5">
      <span className="flex items-center gap-2">
        <progress aria-label={t("jobs.progress")} max={1} value={share} className="sr-only" />
        <span
          aria-hidden="true"
          className="h-2.5 w-28 shrink-0 overflow-hidden rounded-full bg-sunken ring-1 ring-line"
        >
          <span className="block h-full bg-accent" style={{ width: `${share * 100}%` }} />
        </span>
        <span className="tabular-nums whitespace-nowrap">
          {count(completed + failed)} / {lines === 0 ? "–" : count(lines)}
        </span>
      </span>
      {failed > 0 && (
        <span className="text-xs text-bad">{t("jobs.failedLines", { count: failed })}</span>
      )}
    </div>
  );
}
