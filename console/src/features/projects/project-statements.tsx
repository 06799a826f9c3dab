/** The statements of a project: what each closed month cost, for the people who are billed for it. */
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import type { Statement } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars } from "../../lib/format.ts";
import { buttonStyle } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";

export function ProjectStatements({ project }: { project: string }) {
  const t = useT();
  const path = `/projects/${encodeURIComponent(project)}/statements`;
  const query = useQuery(listQuery<Statement>(path));
  return (
    <Card title={t("statements.title")}>
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("statements.none")}>{t("statements.hint")}</Empty>
          ) : (
            <Table
              label={t("statements.title")}
              rows={data}
              rowKey={({ month }) => month}
              columns={[
                { key: "month", header: t("statements.month"), cell: ({ month }) => month },
                {
                  key: "charged",
                  header: t("statements.charged"),
                  align: "right",
                  cell: ({ charged }) => dollars(charged),
                },
                {
                  key: "requests",
                  header: t("figure.requests"),
                  align: "right",
                  cell: ({ requests }) => count(requests),
                },
                {
                  key: "unpriced",
                  header: t("statements.unpriced"),
                  align: "right",
                  cell: ({ requests_without_cost: requests }) => count(requests),
                },
                {
                  key: "actions",
                  header: t("column.actions"),
                  cell: ({ month }) => (
                    <a
                      href={`/admin/api${path}/${month}`}
                      download
                      aria-label={t("statements.download", { month })}
                      className={buttonStyle({ size: "small" })}
                    >
                      <Download className="size-4" aria-hidden="true" /> {t("usage.csv")}
                    </a>
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
