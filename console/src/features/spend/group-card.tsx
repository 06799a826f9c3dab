/** The usage by model, key or status: what costs most, and what fails. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { UsageRow } from "../../../../contract/admin.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { count, dollars } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { TableSkeleton } from "../../ui/skeleton.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { GroupName } from "../usage/group-name.tsx";
import { usageQuery } from "../usage/usage-query.ts";
import type { UsageRange } from "../usage/usage-range.ts";
import { requestsOfOwner, type SpendOwner } from "./spend-owner.ts";

interface GroupCardProps {
  readonly owner: SpendOwner;
  readonly time: UsageRange;
  readonly dimension: keyof typeof titles;
}

const titles = {
  model: "project.models",
  key: "spend.keys",
  project: "spend.projects",
  status: "project.outcomes",
} as const;
const maxRows = 8;
/** The parts below move little for no rows, and for `maxRows`. */
const typicalRows = 4;

interface GroupCardsProps extends Omit<GroupCardProps, "dimension"> {
  readonly dimensions: readonly GroupCardProps["dimension"][];
}

/** Side by side in a wide window. */
export const GroupCards = ({ dimensions, ...shared }: GroupCardsProps) => (
  <div className="grid items-start gap-4 lg:grid-cols-2">
    {dimensions.map((dimension) => (
      <GroupCard key={dimension} {...shared} dimension={dimension} />
    ))}
  </div>
);

function GroupCard({ owner, time, dimension }: GroupCardProps) {
  const t = useT();
  const { from, to, isOpen } = time;
  const group = { ...owner, interval: "total", group_by: dimension };
  const query = useQuery(usageQuery({ ...group, from, to: isOpen ? undefined : to }, isOpen));
  const title = t(titles[dimension]);
  return (
    <Card title={title} className="min-w-0">
      <QueryView query={query} loading={<TableSkeleton rows={typicalRows} />}>
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
              columns={columnsOf({ owner, time, dimension }, t)}
            />
          )
        }
      </QueryView>
    </Card>
  );
}

const columnsOf = (
  { owner, time, dimension }: GroupCardProps,
  t: Translate,
): readonly Column<UsageRow>[] => [
  {
    key: "name",
    header: t(`usage.dimension.${dimension}`),
    cell: (row) => (
      <GroupName
        row={row}
        dimension={dimension}
        requests={requestsOfOwner(owner, time, row.group)}
      />
    ),
  },
  {
    key: "requests",
    header: t("figure.requests"),
    align: "right",
    cell: ({ group, requests }) => {
      const search = requestsOfOwner(owner, time, group);
      return search ? (
        <Link to="/requests" search={search} className="text-accent hover:underline">
          {count(requests)}
        </Link>
      ) : (
        count(requests)
      );
    },
  },
  {
    key: "cost",
    header: t("figure.cost"),
    align: "right",
    cell: ({ charged }) => dollars(charged),
  },
];
