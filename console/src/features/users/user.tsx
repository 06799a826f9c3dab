/** One user of the console: the spend of the keys that the user created, these keys, their failed requests, and the user's latest changes. */
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { AuditEntry, User } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { ProjectLink } from "../../ui/entity-links.tsx";
import { type FactRow, FactsCard } from "../../ui/facts.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { FailedRequests } from "../spend/failed-requests.tsx";
import { GroupCards } from "../spend/group-card.tsx";
import { KeyCard } from "../spend/key-card.tsx";
import { SpendPage } from "../spend/spend-page.tsx";
import { Trend } from "../spend/trend.tsx";
import { userTones } from "./users.tsx";

const maxChanges = 5;

export function UserPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/users/$id" });
  const query = useQuery(listQuery<User>("/users"));
  const user = query.data?.data.find((each) => each.id === id);
  const owner = { created_by: id };
  return (
    <SpendPage
      title={user?.name ?? id}
      description={t("spend.user")}
      parent={{ to: "/users", title: t("nav.users") }}
    >
      {(time) => (
        <QueryView query={query}>
          {() =>
            user ? (
              <>
                <Trend owner={owner} time={time} />
                <FactsCard rows={factsOf(user, t)} />
                <KeyCard created_by={id} />
                <GroupCards owner={owner} time={time} dimensions={["model", "status"]} />
                <FailedRequests search={owner} />
                <LatestChanges user={user.name} />
              </>
            ) : (
              <Empty title={t("state.notFound")} />
            )
          }
        </QueryView>
      )}
    </SpendPage>
  );
}

const factsOf = (user: User, t: Translate): readonly FactRow[] => [
  [
    t("users.status"),
    <Badge tone={userTones[user.status]}>{t(`users.status.${user.status}`)}</Badge>,
  ],
  [t("users.role"), t(`role.${user.role}`)],
  [t("users.lastSignIn"), <Time iso={user.last_sign_in_at} />],
  [
    t("users.projects"),
    user.projects === "all" ? (
      t("users.allProjects")
    ) : (
      <span className="flex flex-wrap gap-x-3">
        {user.projects.length === 0 && "–"}
        {user.projects.map((project) => (
          <ProjectLink key={project} id={project} />
        ))}
      </span>
    ),
  ],
];

function LatestChanges({ user }: { user: string }) {
  const t = useT();
  const query = useQuery(listQuery<AuditEntry>("/audit", { actor: user, limit: maxChanges }));
  return (
    <Card
      title={t("spend.changes")}
      actions={
        <Link to="/audit" className="text-sm text-accent hover:underline">
          {t("nav.audit")}
        </Link>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("project.events.none")} />
          ) : (
            <Table
              label={t("spend.changes")}
              rows={data}
              rowKey={({ id }) => id}
              columns={[
                { key: "at", header: t("column.time"), cell: ({ at }) => <Time iso={at} /> },
                {
                  key: "action",
                  header: t("events.type"),
                  cell: ({ action }) => <code className="font-mono text-xs">{action}</code>,
                },
                {
                  key: "subject",
                  header: t("keys.name"),
                  cell: ({ subject }) => <LongText text={subject ?? "–"} />,
                },
              ]}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
