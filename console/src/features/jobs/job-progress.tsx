/** The status of a job, how many of its lines have ended, and what it waits for. */
import type { ShownJob } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { count } from "../../lib/format.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Time } from "../../ui/time.tsx";

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

/** A job whose lines failed is not green, although it has run all of them. */
export function JobStatus({ job }: { job: ShownJob }) {
  const t = useT();
  const { status, failed, lines } = job;
  if (status === "completed" && failed > 0)
    return (
      <Badge tone={failed === lines ? "bad" : "warn"}>{t("jobs.status.completedWithErrors")}</Badge>
    );
  return <Badge tone={tones[status]}>{t(`jobs.status.${status}`)}</Badge>;
}

/** Why a job does not go on, and when it is tried again. */
export function JobWaiting({ job }: { job: ShownJob }) {
  const t = useT();
  if (!job.waiting) return null;
  const { code, message, next_attempt_at } = job.waiting;
  return (
    <span className="max-w-md text-xs break-words text-warn">
      {t("jobs.waiting")} <Time iso={next_attempt_at} />. {message || code}
    </span>
  );
}

export function JobProgress({ job }: { job: ShownJob }) {
  const t = useT();
  const { lines, completed, failed } = job;
  const share = lines > 0 ? (completed + failed) / lines : 0;
  const failedShare = lines > 0 ? failed / lines : 0;
  return (
    <div className="flex flex-col gap-0.5">
      <span className="flex items-center gap-2">
        <progress aria-label={t("jobs.progress")} max={1} value={share} className="sr-only" />
        <span
          aria-hidden="true"
          className="flex h-2.5 w-28 shrink-0 overflow-hidden rounded-full bg-sunken ring-1 ring-line"
        >
          <span
            className="block h-full bg-accent"
            style={{ width: `${(share - failedShare) * 100}%` }}
          />
          <span className="block h-full bg-bad" style={{ width: `${failedShare * 100}%` }} />
        </span>
        <span className="tabular-nums whitespace-nowrap">
          {count(completed + failed)} / {lines === 0 ? "–" : count(lines)}
        </span>
      </span>
      {failed > 0 && (
        <span className="text-xs text-bad">{t("jobs.failedLines", { count: failed })}</span>
      )}
      <JobWaiting job={job} />
    </div>
  );
}
