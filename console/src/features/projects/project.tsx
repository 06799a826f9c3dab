/** One project: its spend and budgets, what its keys did, its largest models, its errors and its latest events. */

import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { Page as List, ProjectEntity, ShownBudget } from "../../../../contract/admin.ts";
import { lazyComponent } from "../../api/chunks.ts";
import { call } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { sessionQuery } from "../../api/session.ts";
import { useLanguage, useT } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import type { Range } from "../../lib/range.ts";
import { dateTime } from "../../lib/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { limitTexts } from "../../ui/limit-texts.ts";
import { Page } from "../../ui/page.tsx";
import { RangeButtons } from "../../ui/range-buttons.tsx";
import { ChartsSkeleton } from "../../ui/skeleton.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { UsedBar } from "../budgets/used-bar.tsx";
import { usageRange } from "../usage/usage-range.ts";
import { UsageTotals } from "../usage/usage-totals.tsx";
import { useUsage } from "../usage/use-usage.ts";
import { ProjectEvents } from "./project-events.tsx";
import { ProjectGroups } from "./project-groups.tsx";
import { ProjectKeys } from "./project-keys.tsx";
import { ProjectStatements } from "./project-statements.tsx";

const UsageCharts = lazyComponent(
  async () => (await import("../../charts/usage-charts.tsx")).UsageCharts,
);

const projectQuery = (id: string) =>
  queryOptions({
    queryKey: ["/projects", "one", id],
    queryFn: ({ signal }) => call<ProjectEntity>(`/projects/${encodeURIComponent(id)}`, { signal }),
  });

export function ProjectPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/projects/$id" });
  const [range, setRange] = useState<Range>("month");
  return (
    <Page
      title={id}
      parent={{ to: "/projects", title: t("nav.projects") }}
      actions={<RangeButtons value={range} onChange={setRange} />}
    >
      <QueryView query={useQuery(projectQuery(id))}>
        {(project) => <ProjectParts project={project} range={range} />}
      </QueryView>
    </Page>
  );
}

function ProjectParts({ project, range }: { project: ProjectEntity; range: Range }) {
  const { t, language } = useLanguage();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const search = { project: project.id, range };
  const time = usageRange(search, undefined, Date.now());
  const usage = useUsage(search, time, ["model"], undefined);
  return (
    <>
      {project.value.archived && <Badge tone="warn">{t("projects.archived")}</Badge>}
      <Budgets project={project} />
      <QueryView query={usage.totals}>
        {({ data: [totals] }) =>
          totals ? (
            <UsageTotals
              totals={totals}
              previous={usage.previous.data?.data[0]}
              previousTime={`${dateTime(time.previous.from, language)} – ${dateTime(time.previous.to, language)}`}
            />
          ) : (
            <Card>
              <Empty title={t("usage.none")} />
            </Card>
          )
        }
      </QueryView>
      <QueryView query={usage.all}>
        {({ data }) =>
          data.length > 0 && (
            <Suspense fallback={<ChartsSkeleton count={4} />}>
              <UsageCharts rows={data} interval={time.interval} from={time.from} to={time.to} />
            </Suspense>
          )
        }
      </QueryView>
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <ProjectGroups project={project.id} time={time} dimension="model" />
        <ProjectGroups project={project.id} time={time} dimension="status" />
      </div>
      {canSomewhere(session?.user, "develop") && <ProjectKeys project={project.id} />}
      <ProjectStatements project={project.id} />
      {canSomewhere(session?.user, "administer") && <Members project={project} />}
      {session?.user.projects === null && <ProjectEvents project={project.id} />}
    </>
  );
}

/** What is spent of each budget comes first: it decides whether requests are refused. */
function Budgets({ project }: { project: ProjectEntity }) {
  const t = useT();
  const query = useQuery({
    ...listQuery<ShownBudget>("/budgets", { search: project.id, limit: 200 }),
    refetchInterval: 5_000,
  });
  const limits = limitTexts({ limits: project.value.limits ?? null, budget: null }, t);
  const own = ({ data }: List<ShownBudget>): readonly ShownBudget[] =>
    data.filter(({ scope, id }) => scope === "project" && id === project.id);
  return (
    <Card title={t("project.budget")}>
      <QueryView query={query}>
        {(list) => (
          <ul className="flex flex-col gap-2 p-4">
            {own(list).length === 0 && <li className="text-muted">{t("budgets.none")}</li>}
            {own(list).map(({ period, spent, limit, resets_at }) => (
              <li key={period} className="flex flex-wrap items-center gap-x-4 gap-y-1">
                <span className="w-24 text-muted">{t(`budgets.period.${period}`)}</span>
                <UsedBar
                  label={t(`budgets.period.${period}`)}
                  used={spent}
                  limit={limit}
                  format={dollars}
                />
                {resets_at !== null && (
                  <span className="text-xs text-muted">
                    {t("budgets.resets")} <Time iso={resets_at} />
                  </span>
                )}
              </li>
            ))}
            {limits.length > 0 && <li className="text-muted">{limits.join(" · ")}</li>}
            {project.value.contact !== undefined && (
              <li className="text-muted">
                {t("projects.contact")}: {project.value.contact}
              </li>
            )}
          </ul>
        )}
      </QueryView>
    </Card>
  );
}

function Members({ project: { members } }: { project: ProjectEntity }) {
  const t = useT();
  return (
    <Card title={t("projects.members")}>
      <p className="p-4">
        {members.length === 0 ? "–" : members.map(({ name }) => name).join(", ")}{" "}
        <Link to="/users" className="text-accent underline-offset-2 hover:underline">
          {t("nav.users")}
        </Link>
      </p>
    </Card>
  );
}
