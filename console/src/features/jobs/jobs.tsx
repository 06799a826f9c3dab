/** The batches and image jobs of all clients, with their progress. */

import { useInfiniteQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import { useProjectScope } from "../../api/project-scope.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { dollars, duration } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ProjectLink } from "../../ui/entity-links.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Time } from "../../ui/time.tsx";
import type { JobEndpoint } from "./batch-file.ts";
import { JobMenu } from "./job-actions.tsx";
import { JobProgress, JobStatus } from "./job-progress.tsx";
import { jobsQuery } from "./jobs-query.ts";
import { StartJob } from "./start-job.tsx";

export function JobsPage() {
  const t = useT();
  const query = useInfiniteQuery(jobsQuery(useProjectScope()));
  const { data: session } = useSuspenseQuery(sessionQuery);
  const [started, setStarted] = useState<JobEndpoint>();
  return (
    <Page
      title={t("nav.jobs")}
      description={t("jobs.description")}
      actions={
        canSomewhere(session?.user, "develop") && (
          <>
            <Button look="primary" onClick={() => setStarted("/v1/embeddings")}>
              {t("jobs.embed")}
            </Button>
            <Button onClick={() => setStarted("/v1/images/generations")}>
              {t("jobs.generate")}
            </Button>
          </>
        )
      }
    >
      <Card>
        <PagedTable
          label={t("nav.jobs")}
          query={query}
          rowKey={({ id }) => id}
          empty={t("jobs.none")}
          emptyHint={
            <>
              {t("jobs.none.hint")}{" "}
              <Link to="/reference" className="text-accent underline">
                {t("nav.reference")}
              </Link>
            </>
          }
          columns={[
            {
              key: "job",
              header: t("jobs.job"),
              cell: ({ id, kind, name, model, endpoint, project }) => (
                <div className="flex flex-col gap-0.5">
                  <Link
                    to="/jobs/$id"
                    params={{ id }}
                    className="font-medium text-accent underline"
                  >
                    {name === null ? t(`jobs.kind.${kind}`) : <LongText text={name} />}
                  </Link>
                  <span className="text-xs break-all text-muted">{model ?? endpoint}</span>
                  {project !== null && (
                    <span className="text-xs text-muted">
                      <ProjectLink id={project} />
                    </span>
                  )}
                </div>
              ),
            },
            {
              key: "created",
              header: t("column.time"),
              cell: ({ created_at }) => <Time iso={created_at} />,
            },
            {
              key: "status",
              header: t("jobs.status"),
              cell: (job) => <JobStatus job={job} />,
            },
            {
              key: "progress",
              header: t("jobs.progress"),
              cell: (job) => <JobProgress job={job} />,
            },
            {
              key: "remaining",
              header: t("jobs.remaining"),
              align: "right",
              cell: ({ remaining_ms }) => duration(remaining_ms),
            },
            {
              key: "cost",
              header: t("jobs.cost"),
              align: "right",
              cell: ({ cost }) => dollars(cost),
            },
            {
              key: "actions",
              header: t("column.actions"),
              cell: (job) => <JobMenu job={job} />,
            },
          ]}
        />
      </Card>
      <Dialog
        title={t(started === "/v1/images/generations" ? "jobs.generate" : "jobs.embed")}
        isOpen={started !== undefined}
        onClose={() => setStarted(undefined)}
      >
        {started && <StartJob endpoint={started} />}
      </Dialog>
    </Page>
  );
}
