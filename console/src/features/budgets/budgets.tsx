/** Budgets and limits: what is spent, reserved and left, and when each resets. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ShownBudget } from "../../../../contract/admin.ts";
import { pagedQuery } from "../../api/lists.ts";
import { useProjectScope } from "../../api/project-scope.ts";
import { useT } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { Input } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Time } from "../../ui/time.tsx";
import { type EndUserQuery, EndUserSearch } from "./end-user-search.tsx";
import { Limits } from "./limits.tsx";
import { OwnerName } from "./owner-name.tsx";
import { UsedBar } from "./used-bar.tsx";

export function BudgetsPage() {
  const t = useT();
  const [search, setSearch] = useState("");
  const [endUser, setEndUser] = useState<EndUserQuery>({});
  const text = search.trim();
  const project = useProjectScope();
  const filter = endUser.end_user === undefined ? { search: text, project } : { ...endUser };
  const isFiltered = text !== "" || endUser.end_user !== undefined;
  const query = useInfiniteQuery({
    ...pagedQuery<ShownBudget>("/budgets", filter),
    refetchInterval: 5_000,
  });
  return (
    <Page title={t("nav.budgets")} description={t("budgets.description")}>
      <div className="flex flex-wrap items-end justify-between gap-3">
        <Input
          type="search"
          aria-label={t("budgets.search")}
          placeholder={t("budgets.search")}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          className="max-w-sm"
        />
        <EndUserSearch
          // The end users of another project are others.
          key={project ?? ""}
          project={project}
          value={endUser}
          onChange={setEndUser}
        />
      </div>
      <Card title={t("budgets.title")}>
        <PagedTable
          label={t("budgets.title")}
          query={query}
          rowKey={({ scope, id, period }) => `${scope} ${id} ${period}`}
          empty={t(isFiltered ? "table.noMatch" : "budgets.none")}
          columns={[
            {
              key: "owner",
              header: t("budgets.owner"),
              sortBy: ({ name }) => name,
              cell: (budget) => <OwnerName owner={budget} />,
            },
            {
              key: "period",
              header: t("budgets.period"),
              cell: ({ period }) => t(`budgets.period.${period}`),
            },
            {
              key: "used",
              header: t("budgets.used"),
              sortBy: ({ spent, limit }) => spent / limit,
              cell: ({ name, period, spent, limit }) => (
                <UsedBar
                  label={`${name} ${t(`budgets.period.${period}`)}`}
                  used={spent}
                  limit={limit}
                  format={dollars}
                />
              ),
            },
            {
              key: "reserved",
              header: t("budgets.reserved"),
              priority: 2,
              sortBy: ({ reserved }) => reserved,
              align: "right",
              cell: ({ reserved }) => dollars(reserved),
            },
            {
              key: "left",
              header: t("budgets.left"),
              sortBy: ({ left }) => left,
              align: "right",
              cell: ({ left }) => dollars(left),
            },
            {
              key: "resets",
              header: t("budgets.resets"),
              sortBy: ({ resets_at }) => resets_at,
              cell: ({ resets_at }) => <Time iso={resets_at} />,
            },
          ]}
        />
      </Card>
      <Limits filter={filter} isFiltered={isFiltered} />
    </Page>
  );
}
