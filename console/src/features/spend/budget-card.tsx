/** What is spent of each budget comes first: it decides whether requests are refused. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { ShownBudget } from "../../../../contract/admin.ts";
import type { Query } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { dollars } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { UsedBar } from "../budgets/used-bar.tsx";

interface BudgetCardProps {
  readonly title?: string;
  /** Of /budgets. */
  readonly query: Query;
  /** Keys of a project have budgets of their own. */
  readonly scope: ShownBudget["scope"];
  /** More lines, such as the limits. */
  readonly children?: ReactNode;
}

export function BudgetCard({ title, query, scope, children }: BudgetCardProps) {
  const t = useT();
  const budgets = useQuery({
    ...listQuery<ShownBudget>("/budgets", { ...query, limit: 200 }),
    refetchInterval: 5_000,
  });
  return (
    <Card title={title ?? t("project.budget")}>
      <QueryView query={budgets}>
        {({ data }) => {
          const own = data.filter((budget) => budget.scope === scope);
          return (
            <ul className="flex flex-col gap-2 p-4">
              {own.length === 0 && <li className="text-muted">{t("spend.noBudget")}</li>}
              {own.map(({ period, spent, limit, resets_at }) => (
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
              {children}
            </ul>
          );
        }}
      </QueryView>
    </Card>
  );
}
