/** The usage of a project by model or status: what costs most, and what fails. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { UsageRow } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { requestsOf } from "../usage/drill-down.ts";
import { valueLabel } from "../usage/group-series.ts";
import type { UsageRange } from "../usage/usage-range.ts";
import { usageQuery } from "../usage/use-usage.ts";

interface ProjectGroupsProps {
  readonly project: string;
  readonly time: UsageRange;
  readonly dimension: "model" | "status";
}

const maxRows = 8;

export function ProjectGroups({ project, time, dimension }: ProjectGroupsProps) {
  const t = useT();
  const { from, to, isOpen } = time;
  const group = { project, interval: "total", group_by: dimension };
  const query = useQuery(usageQuery({ ...group, from, to: isOpen ? undefined : to }, isOpen));
  const title = t(dimension === "model" ? "project.models" : "project.outcomes");
  const columns: readonly Column<UsageRow>[] = [
    {
      key: "name",
      header: t(`usage.dimension.${dimension}`),
      cell: (row) => (
        <Link
          to="/requests"
          search={requestsOf({ project }, { from, to }, row.group)}
          className="break-all text-accent underline-offset-2 hover:underline"
        >
          {valueLabel(row, dimension, t)}
        </Link>
      ),
    },
    {
      key: "requests",
      header: t("figure.requests"),
      align: "right",
      cell: ({ requests }) => count(requests),
    },
    {
      key: "cost",
      header: t("figure.cost"),
      align: "right",
      cell: ({ charged }) => dollars(charged),
    },
  ];
  return (
    <Card title={title} className="min-w-0">
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("usage.none")} />
          ) : (
            <Table
              label={title}
              rows={data
                .toSorted((a, b) => b.charged - a.charged || b.requests - a.requests)
                .slice(0, maxRows)}
              rowKey={({ group: of }) => of[dimension] ?? ""}
              columns={columns}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
