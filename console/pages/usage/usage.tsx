/** Usage by hour or day, grouped by any of the dimensions. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type UsageDimension, type UsageRow, usageDimensions } from "../../../contract/admin.ts";
import { pathWithQuery } from "../../api/client.ts";
import { listQuery } from "../../api/lists.ts";
import { LineChart } from "../../charts/line-chart.tsx";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { Select } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { sumByGroup, sumByTime } from "./sum-usage.ts";

const ranges = { day: 1, week: 7, month: 30, quarter: 90 } as const;
type Range = keyof typeof ranges;

export function UsagePage() {
  const t = useT();
  const [range, setRange] = useState<Range>("week");
  const [dimension, setDimension] = useState<UsageDimension>("model");
  const parameters = {
    days: ranges[range],
    interval: range === "day" ? "hour" : "day",
    group_by: dimension,
  };
  const query = useQuery(listQuery<UsageRow>("/usage", parameters));
  return (
    <Page
      title={t("nav.usage")}
      description={t("usage.description")}
      actions={
        <>
          <Select
            aria-label={t("usage.range")}
            value={range}
            onChange={(event) => setRange(event.target.value as Range)}
            className="w-auto"
          >
            {Object.keys(ranges).map((name) => (
              <option key={name} value={name}>
                {t(`usage.range.${name as Range}`)}
              </option>
            ))}
          </Select>
          <Select
            aria-label={t("usage.groupBy")}
            value={dimension}
            onChange={(event) => setDimension(event.target.value as UsageDimension)}
            className="w-auto"
          >
            {usageDimensions.map((name) => (
              <option key={name} value={name}>
                {t(`usage.dimension.${name}`)}
              </option>
            ))}
          </Select>
          <a
            href={`/admin/api${pathWithQuery("/usage.csv", parameters)}`}
            download
            className="inline-flex h-9 items-center rounded-md border border-line bg-surface px-3 font-medium hover:bg-sunken"
          >
            CSV
          </a>
        </>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Card>
              <Empty title={t("usage.none")} />
            </Card>
          ) : (
            <>
              <Charts rows={data} />
              <Groups rows={data} dimension={dimension} />
            </>
          )
        }
      </QueryView>
    </Page>
  );
}

function Charts({ rows }: { rows: readonly UsageRow[] }) {
  const t = useT();
  const sums = sumByTime(rows);
  const times = sums.map(({ start }) => Date.parse(start) / 1000);
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card title={t("figure.requests")} className="p-0">
        <LineChart
          title={t("figure.requests")}
          times={times}
          series={[
            {
              label: t("figure.requests"),
              color: "--accent",
              values: sums.map(({ requests }) => requests),
            },
            {
              label: t("figure.errorCount"),
              color: "--bad",
              values: sums.map(({ errors }) => errors),
            },
          ]}
          format={count}
        />
      </Card>
      <Card title={t("figure.cost")} className="p-0">
        <LineChart
          title={t("figure.cost")}
          times={times}
          series={[
            { label: t("figure.cost"), color: "--accent", values: sums.map(({ cost }) => cost) },
          ]}
          format={dollars}
        />
      </Card>
    </div>
  );
}

function Groups({ rows, dimension }: { rows: readonly UsageRow[]; dimension: UsageDimension }) {
  const t = useT();
  return (
    <Card>
      <Table
        label={t("nav.usage")}
        rows={sumByGroup(rows, dimension)}
        rowKey={({ name }) => name ?? ""}
        columns={[
          {
            key: "name",
            header: t(`usage.dimension.${dimension}`),
            cell: ({ name }) => name ?? "–",
          },
          {
            key: "requests",
            header: t("figure.requests"),
            align: "right",
            cell: ({ requests }) => count(requests),
          },
          {
            key: "errors",
            header: t("figure.errorCount"),
            align: "right",
            cell: ({ errors }) => count(errors),
          },
          {
            key: "tokens",
            header: t("figure.tokens"),
            align: "right",
            cell: (row) => count(row.input_tokens + row.output_tokens),
          },
          {
            key: "images",
            header: t("figure.images"),
            align: "right",
            cell: ({ images }) => count(images),
          },
          {
            key: "cost",
            header: t("figure.cost"),
            align: "right",
            cell: ({ cost }) => dollars(cost),
          },
          {
            key: "p95",
            header: t("figure.p95"),
            align: "right",
            cell: ({ latency_p95_ms }) => milliseconds(latency_p95_ms),
          },
        ]}
      />
    </Card>
  );
}
