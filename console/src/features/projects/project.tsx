/** One project: its spend and budgets, what its keys did, its largest models, its errors and its latest events. */

import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { canSomewhere } from "../../../../contract/admin/roles.ts";
import type { ProjectEntity } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { sessionQuery } from "../../api/session.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { UserLink } from "../../ui/entity-links.tsx";
import { limitTexts } from "../../ui/limit-texts.ts";
import { QueryView } from "../../ui/states.tsx";
import { BudgetCard } from "../spend/budget-card.tsx";
import { EventCard } from "../spend/event-card.tsx";
import { GroupCards } from "../spend/group-card.tsx";
import { KeyCard } from "../spend/key-card.tsx";
import { SpendPage } from "../spend/spend-page.tsx";
import { Trend } from "../spend/trend.tsx";
import type { UsageRange } from "../usage/usage-range.ts";
import { ProjectStatements } from "./project-statements.tsx";

const projectQuery = (id: string) =>
  queryOptions({
    queryKey: ["/projects", "one", id],
    queryFn: ({ signal }) => call<ProjectEntity>(`/projects/${encodeURIComponent(id)}`, { signal }),
  });

export function ProjectPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/projects/$id" });
  const query = useQuery(projectQuery(id));
  return (
    <SpendPage title={id} parent={{ to: "/projects", title: t("nav.projects") }}>
      {(time) => (
        <QueryView query={query}>
          {(project) => <ProjectParts project={project} time={time} />}
        </QueryView>
      )}
    </SpendPage>
  );
}

function ProjectParts({ project, time }: { project: ProjectEntity; time: UsageRange }) {
  const t = useT();
  const { data: session } = useSuspenseQuery(sessionQuery);
  const limits = limitTexts({ limits: project.value.limits ?? null, budget: null }, t);
  const owner = { project: project.id };
  return (
    <>
      {project.value.archived && <Badge tone="warn">{t("projects.archived")}</Badge>}
      <BudgetCard query={owner} scope="project">
        {limits.length > 0 && <li className="text-muted">{limits.join(" · ")}</li>}
        {project.value.contact !== undefined && (
          <li className="text-muted">
            {t("projects.contact")}: {project.value.contact}
          </li>
        )}
      </BudgetCard>
      <Trend owner={owner} time={time} />
      <GroupCards owner={owner} time={time} dimensions={["model", "status"]} />
      {canSomewhere(session?.user, "develop") && <KeyCard project={project.id} />}
      <ProjectStatements project={project.id} />
      {canSomewhere(session?.user, "administer") && <Members project={project} />}
      {session?.user.projects === null && <EventCard project={project.id} />}
    </>
  );
}

function Members({ project: { members } }: { project: ProjectEntity }) {
  const t = useT();
  return (
    <Card title={t("projects.members")}>
      <ul className="flex flex-wrap gap-x-4 gap-y-1 p-4">
        {members.length === 0 && <li>–</li>}
        {members.map(({ id, name }) => (
          <li key={id}>
            <UserLink id={id} name={name} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
