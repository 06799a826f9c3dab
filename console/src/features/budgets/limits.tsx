/** Limits of projects, models and keys: what is used and left. */
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ShownLimit } from "../../../../contract/admin.ts";
import type { Query } from "../../api/client.ts";
import { pagedQuery } from "../../api/lists.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { count } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Time } from "../../ui/time.tsx";
import { OwnerName } from "./owner-name.tsx";
import { UsedBar } from "./used-bar.tsx";

const limitName = (rate: ShownLimit["rate"], t: Translate): string =>
  t(rate === "concurrent" ? "limits.concurrent" : `limits.${rate}PerMinute`);

interface LimitsProps {
  readonly filter: Query;
  readonly isFiltered: boolean;
}

export function Limits({ filter, isFiltered }: LimitsProps) {
  const t = useT();
  const query = useInfiniteQuery({
    ...pagedQuery<ShownLimit>("/limits", filter),
    refetchInterval: 5_000,
  });
  return (
    <Card title={t("limits.title")}>
      <PagedTable
        label={t("limits.title")}
        query={query}
        rowKey={({ scope, id, rate }) => `${scope} ${id} ${rate}`}
        empty={t(isFiltered ? "table.noMatch" : "limits.none")}
        columns={[
          {
            key: "owner",
            header: t("limits.owner"),
            sortBy: ({ name }) => name,
            cell: (limit) => <OwnerName owner={limit} />,
          },
          { key: "rate", header: t("limits.rate"), cell: ({ rate }) => limitName(rate, t) },
          {
            key: "used",
            header: t("limits.used"),
            sortBy: ({ used, limit }) => used / limit,
            cell: ({ name, rate, used, limit }) => (
              <UsedBar
                label={`${name} ${limitName(rate, t)}`}
                used={used}
                limit={limit}
                format={count}
              />
            ),
          },
          {
            key: "left",
            header: t("budgets.left"),
            sortBy: ({ left }) => left,
            align: "right",
            cell: ({ left }) => count(left),
          },
          {
            key: "queued",
            header: t("limits.queued"),
            sortBy: ({ queued }) => queued,
            align: "right",
            cell: ({ queued }) => count(queued),
          },
          {
            key: "resets",
            header: t("limits.resets"),
            cell: ({ resets_at }) => <Time iso={resets_at} />,
          },
        ]}
      />
    </Card>
  );
}
