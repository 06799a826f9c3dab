/** One end user: the spend and the budgets in each project, its models and keys, and its latest errors. */
import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useT } from "../../i18n/messages.ts";
import { startOf } from "../../lib/range.ts";
import { BudgetCard } from "../spend/budget-card.tsx";
import { FailedRequests } from "../spend/failed-requests.tsx";
import { GroupCards } from "../spend/group-card.tsx";
import { SpendPage } from "../spend/spend-page.tsx";
import { Trend } from "../spend/trend.tsx";
import { usageQuery } from "../usage/usage-query.ts";

/** Of the projects that it has most requests in. */
const maxBudgets = 3;

export function EndUserPage() {
  const t = useT();
  const { _splat: id = "" } = useParams({ from: "/signed-in/end-users/$" });
  const { project } = useSearch({ strict: false });
  const owner = { end_user: id, ...(typeof project === "string" && { project }) };
  const from = startOf("quarter");
  const { data } = useQuery({
    ...usageQuery({ end_user: id, interval: "total", group_by: "project", from }, false),
    enabled: owner.project === undefined,
  });
  const found = (data?.data ?? []).flatMap(({ group }) => group.project ?? []);
  const projects = owner.project === undefined ? found.slice(0, maxBudgets) : [owner.project];
  return (
    <SpendPage
      title={id}
      description={t("spend.endUser")}
      parent={{ to: "/usage", title: t("nav.usage") }}
    >
      {(time) => (
        <>
          {projects.map((each) => (
            <BudgetCard
              key={each}
              title={t("spend.budgetIn", { project: each })}
              query={{ project: each, end_user: id }}
              scope="end_user"
            />
          ))}
          <Trend owner={owner} time={time} />
          <GroupCards owner={owner} time={time} dimensions={["model", "key"]} />
          <FailedRequests search={{ ...owner, from: time.from, to: time.to }} />
        </>
      )}
    </SpendPage>
  );
}
