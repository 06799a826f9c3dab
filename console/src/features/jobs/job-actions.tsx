/** What a developer does with a job: pause, resume and cancel it, and download its results. */

import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { can } from "../../../../contract/admin/roles.ts";
import type { ShownJob } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { isRunning, jobPath } from "./jobs-query.ts";

export function JobActions({ job }: { job: ShownJob }) {
  const t = useT();
  const queryClient = useQueryClient();
  const { data: session } = useSuspenseQuery(sessionQuery);
  if (!can(session?.user.role ?? "", "develop")) return null;
  const change = async (action: "pause" | "resume" | "cancel"): Promise<void> => {
    try {
      await call(`${jobPath(job.id)}/${action}`, { method: "POST" });
    } finally {
      await queryClient.invalidateQueries({ queryKey: ["/jobs"] });
    }
  };
  const isPaused = job.status === "paused";
  const mayPause = job.kind === "batch" && isRunning(job) && job.status !== "cancelling";
  return (
    <div className="flex flex-wrap gap-1">
      {mayPause && (
        <Button
          size="small"
          look="quiet"
          onClick={() => change(isPaused ? "resume" : "pause").catch(() => undefined)}
        >
          {t(isPaused ? "jobs.resume" : "jobs.pause")}
        </Button>
      )}
      {isRunning(job) && job.status !== "cancelling" && (
        <ConfirmButton
          label={t("jobs.cancel")}
          title={t("jobs.cancel.title")}
          description={t("jobs.cancel.description")}
          onConfirm={() => change("cancel")}
        />
      )}
      {job.has_output && <Download job={job} kind="output" />}
      {job.has_errors && <Download job={job} kind="errors" />}
    </div>
  );
}

/** A link, so that the browser writes a large file to the disk while it arrives. */
function Download({ job, kind }: { job: ShownJob; kind: "output" | "errors" }) {
  const t = useT();
  return (
    <a
      href={`/admin/api${jobPath(job.id)}/${kind}`}
      download
      className="inline-flex h-7 items-center rounded-md px-2 text-xs font-medium whitespace-nowrap hover:bg-sunken"
    >
      {t(`jobs.${kind}`)}
    </a>
  );
}
