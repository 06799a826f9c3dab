/** Budgets: what is spent, reserved and left, and when each resets. */
import { useQuery } from "@tanstack/react-query";
import type { BudgetStatus } from "../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

export function BudgetsPage() {
  const t = useT();
  const query = useQuery({ ...listQuery<BudgetStatus>("/budgets"), refetchInterval: 5_000 });
  return (
    <Page title={t("nav.budgets")} description={t("budgets.description")}>
      <Card>
        <QueryView query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title={t("budgets.none")}>{t("budgets.none.hint")}</Empty>
            ) : (
              <Table
                label={t("nav.budgets")}
                rows={data}
                rowKey={({ scope, id, period }) => `${scope} ${id} ${period}`}
                columns={[
                  {
                    key: "owner",
                    header: t("budgets.owner"),
                    cell: ({ scope, name }) => (
                      <>
                        <Badge>{t(`budgets.scope.${scope}`)}</Badge> {name}
                      </>
                    ),
                  },
                  {
                    key: "period",
                    header: t("budgets.period"),
                    cell: ({ period }) => t(`budgets.period.${period}`),
                  },
                  {
                    key: "used",
                    header: t("budgets.used"),
                    cell: (budget) => <UsedBar budget={budget} />,
                  },
                  {
                    key: "reserved",
                    header: t("budgets.reserved"),
                    align: "right",
                    cell: ({ reserved }) => dollars(reserved),
                  },
                  {
                    key: "left",
                    header: t("budgets.left"),
                    align: "right",
                    cell: ({ left }) => dollars(left),
                  },
                  {
                    key: "resets",
                    header: t("budgets.resets"),
                    cell: ({ resets_at }) => <Time iso={resets_at} />,
                  },
                ]}
              />
            )
          }
        </QueryView>
      </Card>
    </Page>
  );
}

const UsedBar = ({ budget: { spent, limit, name } }: { budget: BudgetStatus }) => (
  <span className="flex items-center gap-2">
    <meter
      aria-label={name}
      min={0}
      max={limit}
      high={limit * 0.8}
      value={Math.min(spent, limit)}
      className="w-28"
    />
    <span className="tabular-nums whitespace-nowrap">
      {dollars(spent)} / {dollars(limit)}
    </span>
  </span>
);
