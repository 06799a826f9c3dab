/** What each project spends and fails, for the list of projects: an operator of many starts here. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ProjectEntity, ShownBudget } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { errorRate } from "../../api/outcomes.ts";
import type { Translate } from "../../i18n/messages.ts";
import { dollars, percent } from "../../lib/format.ts";
import { startOf } from "../../lib/range.ts";
import type { Column } from "../../ui/table.tsx";
import { UsedBar } from "../budgets/used-bar.tsx";
import { usageQuery } from "../usage/usage-query.ts";

interface Figures {
  /** US dollars in the last 30 days. Null if not loaded. */
  readonly spend: number | null;
  readonly errorRate: number | null;
  /** Its budget of which the largest share is used. */
  readonly budget: ShownBudget | undefined;
}

/** The figures of each project by its id. Undefined while they are loaded: they come with the list. */
export function useProjectFigures(): ((id: string) => Figures) | undefined {
  const [from] = useState(() => startOf("month"));
  const usage = useQuery(usageQuery({ from, interval: "total", group_by: "project" }));
  // Projects are before keys.
  const budgets = useQuery({
    ...listQuery<ShownBudget>("/budgets", { limit: 200 }),
    refetchInterval: 10_000,
  });
  const used = ({ spent, limit }: ShownBudget): number => spent / limit;
  if (usage.isPending || budgets.isPending) return undefined;
  return (id) => {
    const sums = usage.data?.data.find(({ group }) => group.project === id);
    return {
      spend: usage.data ? (sums?.charged ?? 0) : null,
      errorRate: sums ? errorRate(sums) : null,
      budget: budgets.data?.data
        .filter((budget) => budget.scope === "project" && budget.id === id)
        .toSorted((a, b) => used(b) - used(a))[0],
    };
  };
}

export const figureColumns = (
  t: Translate,
  figuresOf: (id: string) => Figures,
): readonly Column<ProjectEntity>[] => [
  {
    key: "spend",
    header: t("keys.spend"),
    sortBy: ({ id }) => figuresOf(id).spend,
    align: "right",
    cell: ({ id }) => dollars(figuresOf(id).spend),
  },
  {
    key: "budget",
    header: t("projects.budget"),
    cell: ({ id }) => {
      const { budget } = figuresOf(id);
      if (!budget) return "–";
      const period = t(`budgets.period.${budget.period}`);
      return (
        <>
          <UsedBar
            label={`${id} ${period}`}
            used={budget.spent}
            limit={budget.limit}
            format={dollars}
          />
          <span className="text-xs text-muted">{period}</span>
        </>
      );
    },
  },
  {
    key: "errors",
    header: t("figure.errors"),
    sortBy: ({ id }) => figuresOf(id).errorRate,
    align: "right",
    cell: ({ id }) => percent(figuresOf(id).errorRate),
  },
];
