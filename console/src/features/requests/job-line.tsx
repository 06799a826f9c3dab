/** The line of a job that a request is for. A line that is tried again has several requests. */
import { Link } from "@tanstack/react-router";
import { jobLineOf } from "../../../../contract/job-line-id.ts";
import { useT } from "../../i18n/messages.ts";

/** Nothing if the request is of no job. */
export function JobLine({ requestId }: { requestId: string }) {
  const t = useT();
  const line = jobLineOf(requestId);
  if (!line) return null;
  const { job, first, last, attempt } = line;
  const kind = t(job.startsWith("batch_") ? "jobs.kind.batch" : "jobs.kind.image");
  const lines = first === last ? `${first + 1}` : `${first + 1}–${last + 1}`;
  return (
    <Link to="/jobs/$id" params={{ id: job }} className="text-accent hover:underline">
      {t(attempt === undefined ? "jobs.lineOf" : "jobs.retryOf", { kind, lines })}
    </Link>
  );
}
