/** One job: its progress, rate, remaining time, cost and times, and the errors of its input file and of its lines. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { JobDetail } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, duration } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { ErrorName } from "../requests/error-name.tsx";
import { JobButtons } from "./job-actions.tsx";
import { JobProgress, JobStatus } from "./job-progress.tsx";
import { jobQuery } from "./jobs-query.ts";

export function JobPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/jobs/$id" });
  const query = useQuery(jobQuery(id));
  return (
    <Page
      title={query.data ? (query.data.name ?? t(`jobs.kind.${query.data.kind}`)) : t("jobs.job")}
      parent={{ to: "/jobs", title: t("nav.jobs") }}
      crumb={id}
      actions={<CopyButton text={id} label={t("request.copyId")} />}
    >
      <QueryView query={query}>
        {(job) => (
          <>
            <Facts job={job} />
            {job.input_errors.length > 0 && <InputErrors job={job} />}
            {job.line_errors.length > 0 && <LineErrors job={job} />}
          </>
        )}
      </QueryView>
    </Page>
  );
}

function Facts({ job }: { job: JobDetail }) {
  const t = useT();
  const rate = job.lines_per_second;
  const rows: readonly [string, ReactNode][] = [
    [t("jobs.progress"), <JobProgress job={job} />],
    [
      t("jobs.rate"),
      rate === null ? "–" : t("jobs.rate.value", { rate: rate.toFixed(rate < 10 ? 2 : 0) }),
    ],
    [t("jobs.remaining"), duration(job.remaining_ms)],
    [t("jobs.cost"), dollars(job.cost)],
    ...vendorRows(job, t),
    [t("request.endpoint"), job.endpoint],
    [t("requests.model"), job.model ?? "–"],
    [t("requests.project"), job.project ?? "–"],
    [t("requests.key"), job.key_name ?? job.key_id],
    [t("jobs.created"), <Time iso={job.created_at} />],
    [t("jobs.started"), <Time iso={job.started_at} />],
    [t("jobs.ended"), <Time iso={job.ended_at} />],
    [t("jobs.deadline"), <Time iso={job.deadline} />],
    [t("jobs.expires"), <Time iso={job.expires_at} />],
  ];
  return (
    <Card title={<JobStatus job={job} />} actions={<JobButtons job={job} />}>
      {job.error !== null && (
        <p className="mx-4 mt-4 rounded-md bg-bad-soft p-3 break-words text-bad">{job.error}</p>
      )}
      <dl className="grid gap-x-6 gap-y-3 p-4 sm:grid-cols-2 lg:grid-cols-3">
        {rows.map(([name, value]) => (
          <div key={name} className="min-w-0">
            <dt className="text-xs text-muted">{name}</dt>
            <dd className="break-words">{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

/** What the lines cost now and in batches of the vendor, before and after. */
function vendorRows(job: JobDetail, t: ReturnType<typeof useT>): readonly [string, ReactNode][] {
  const { execution, upstream, estimated_cost: estimate, list_cost: listCost } = job;
  if (execution === null) return [];
  const place = t(upstream === null ? "jobs.execution.now" : "jobs.execution.vendor");
  return [
    [t("jobs.execution"), upstream === null ? place : `${place} (${upstream})`],
    ...(upstream === null
      ? []
      : [[t("jobs.listCost"), dollars(listCost)] satisfies [string, ReactNode]]),
    [t("jobs.estimate.now"), dollars(estimate?.now ?? null)],
    [t("jobs.estimate.vendor"), dollars(estimate?.vendor ?? null)],
  ];
}

/** The most frequent errors of its lines, with links to the requests that had them. */
function LineErrors({ job }: { job: JobDetail }) {
  const t = useT();
  const { key_id: key, created_at: from, ended_at: to } = job;
  return (
    <Card title={t("jobs.lineErrors")}>
      <Table
        label={t("jobs.lineErrors")}
        rows={job.line_errors}
        rowKey={({ code }) => code}
        columns={[
          {
            key: "count",
            header: t("jobs.lineErrors.count"),
            align: "right",
            cell: (error) => count(error.count),
          },
          {
            key: "code",
            header: t("requests.error"),
            cell: ({ code }) => (
              <Link
                to="/requests"
                search={{ error: code, key, from, ...(to !== null && { to }) }}
                className="text-accent underline"
              >
                <ErrorName kind={code} />
              </Link>
            ),
          },
          { key: "message", header: t("jobs.problem"), cell: ({ message }) => message },
        ]}
      />
    </Card>
  );
}

function InputErrors({ job }: { job: JobDetail }) {
  const t = useT();
  return (
    <Card title={t("jobs.inputErrors")}>
      <Table
        label={t("jobs.inputErrors")}
        rows={job.input_errors}
        rowKey={({ line, code, param }) => `${line} ${code} ${param}`}
        columns={[
          { key: "line", header: t("jobs.line"), cell: ({ line }) => line ?? "–" },
          {
            key: "code",
            header: t("requests.error"),
            cell: ({ code }) => <ErrorName kind={code} />,
          },
          { key: "message", header: t("jobs.problem"), cell: ({ message }) => message },
        ]}
      />
    </Card>
  );
}
