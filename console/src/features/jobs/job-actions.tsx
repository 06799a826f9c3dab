/** What a developer does with a job: pause, resume and cancel it, and download its results. */

import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { ShownJob } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Button, buttonStyle } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/confirm.tsx";
import { type RowAction, RowMenu } from "../../ui/row-menu.tsx";
import { isRunning, jobPath } from "./jobs-query.ts";

function useJobActions(job: ShownJob): readonly (RowAction | false)[] {
  const t = useT();
  const queryClient = useQueryClient();
  const { data: session } = useSuspenseQuery(sessionQuery);
  if (!canSomewhere(session?.user, "develop")) return [];
  const change = async (action: "pause" | "resume" | "cancel"): Promise<void> => {
    try {
      await call(`${jobPath(job.id)}/${action}`, { method: "POST" });
    } finally {
      await queryClient.invalidateQueries({ queryKey: ["/jobs"] });
    }
  };
  const isPaused = job.status === "paused";
  const mayStop = isRunning(job) && job.status !== "cancelling";
  const download = (kind: "output" | "errors"): RowAction => ({
    label: t(`jobs.${kind}`),
    download: `/admin/api${jobPath(job.id)}/${kind}`,
  });
  return [
    mayStop &&
      job.kind === "batch" && {
        label: t(isPaused ? "jobs.resume" : "jobs.pause"),
        onSelect: () => change(isPaused ? "resume" : "pause").catch(() => undefined),
      },
    mayStop && {
      label: t("jobs.cancel"),
      isDangerous: true,
      confirm: { title: t("jobs.cancel.title"), description: t("jobs.cancel.description") },
      onSelect: () => change("cancel"),
    },
    job.has_output && download("output"),
    job.has_errors && download("errors"),
  ];
}

/** In a menu, for the list of jobs. */
export const JobMenu = ({ job }: { job: ShownJob }) => (
  <RowMenu name={job.id} actions={useJobActions(job)} />
);

/** As buttons, for the page of a job. */
export const JobButtons = ({ job }: { job: ShownJob }) => (
  <div className="flex flex-wrap gap-1">
    {useJobActions(job).map((action) => {
      if (!action) return null;
      const { label, download, confirm, onSelect } = action;
      if (download !== undefined) {
        return (
          <a
            key={label}
            href={download}
            download
            className={buttonStyle({ size: "small", look: "quiet" })}
          >
            {label}
          </a>
        );
      }
      if (confirm) {
        return (
          <ConfirmButton
            key={label}
            {...confirm}
            label={label}
            onConfirm={async () => onSelect?.()}
          />
        );
      }
      return (
        <Button key={label} size="small" look="quiet" onClick={() => onSelect?.()}>
          {label}
        </Button>
      );
    })}
  </div>
);
