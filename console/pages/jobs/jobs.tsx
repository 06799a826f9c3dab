/** The batches and image jobs of all clients, with their progress. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useT } from "../../i18n/messages.ts";
import { dollars, duration } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Time } from "../../ui/time.tsx";
import { JobActions } from "./job-actions.tsx";
import { JobProgress, JobStatus } from "./job-progress.tsx";
import { jobsQuery } from "./jobs-query.ts";

export function JobsPage() {
  const t = useT();
  const query = useInfiniteQuery(jobsQuery);
  return (
    <Page title={t("nav.jobs")} description={t("jobs.description")}>
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
              cell: ({ id, kind, model, endpoint, project }) => (
                <div className="flex flex-col gap-0.5">
                  <Link
                    to="/jobs/$id"
                    params={{ id }}
                    className="font-medium text-accent underline"
                  >
                    {t(`jobs.kind.${kind}`)}
                  </Link>
                  <span className="text-xs break-all text-muted">{model ?? endpoint}</span>
                  {project !== null && (
                    <span className="text-xs break-all text-muted">{project}</span>
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
              cell: ({ status }) => <JobStatus status={status} />,
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
              cell: (job) => <JobActions job={job} />,
            },
          ]}
        />
      </Card>
    </Page>
  );
}
