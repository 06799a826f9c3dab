/** Usage summed by one or two dimensions, such as model and key. */
import type { UsageDimension, UsageRow } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds } from "../../lib/format.ts";
import { Table } from "../../ui/table.tsx";

interface UsageTableProps {
  readonly rows: readonly UsageRow[];
  readonly dimensions: readonly UsageDimension[];
}

export function UsageTable({ rows, dimensions }: UsageTableProps) {
  const t = useT();
  const nameIn = (row: UsageRow, dimension: UsageDimension): string =>
    (dimension === "key" ? row.key_name : null) ?? row.group[dimension] ?? "–";
  return (
    <Table
      label={t("nav.usage")}
      rows={rows}
      rowKey={({ group }) => dimensions.map((name) => group[name] ?? "").join("\n")}
      columns={[
        ...dimensions.map((dimension) => ({
          key: dimension,
          header: t(`usage.dimension.${dimension}`),
          cell: (row: UsageRow) => nameIn(row, dimension),
          sortBy: (row: UsageRow) => nameIn(row, dimension),
        })),
        {
          key: "requests",
          header: t("figure.requests"),
          sortBy: ({ requests }) => requests,
          align: "right",
          cell: ({ requests }) => count(requests),
        },
        {
          key: "errors",
          header: t("figure.errorCount"),
          sortBy: ({ errors }) => errors,
          align: "right",
          cell: ({ errors }) => count(errors),
        },
        {
          key: "tokens",
          header: t("figure.tokens"),
          sortBy: (row) => row.input_tokens + row.output_tokens,
          align: "right",
          cell: (row) => count(row.input_tokens + row.output_tokens),
        },
        {
          key: "images",
          header: t("figure.images"),
          sortBy: ({ images }) => images,
          align: "right",
          cell: ({ images }) => count(images),
        },
        {
          key: "cost",
          header: t("figure.cost"),
          sortBy: ({ cost }) => cost,
          align: "right",
          cell: ({ cost }) => dollars(cost),
        },
        {
          key: "unpriced",
          header: t("usage.withoutCost"),
          sortBy: ({ requests_without_cost }) => requests_without_cost,
          align: "right",
          cell: ({ requests_without_cost }) => count(requests_without_cost),
        },
        {
          key: "p95",
          header: t("figure.p95"),
          sortBy: ({ latency_p95_ms }) => latency_p95_ms,
          align: "right",
          cell: ({ latency_p95_ms }) => milliseconds(latency_p95_ms),
        },
      ]}
    />
  );
}
