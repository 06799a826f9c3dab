/** The latest requests that failed or were refused. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RequestPage } from "../../../../contract/admin.ts";
import { call, pathWithQuery } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { requestColumns } from "../requests/request-columns.tsx";
import type { RequestsSearch } from "../requests/requests-search.ts";

const maxShown = 5;
const shown: readonly string[] = ["at", "status", "model", "key"];

export function FailedRequests({ search }: { search: RequestsSearch }) {
  const t = useT();
  const failed = { ...search, status: "error" };
  const query = useQuery({
    queryKey: ["/requests", "failed", failed],
    queryFn: ({ signal }) =>
      call<RequestPage>(pathWithQuery("/requests", { ...failed, limit: maxShown }), { signal }),
  });
  return (
    <Card
      title={t("spend.failed")}
      actions={
        <Link to="/requests" search={failed} className="text-sm text-accent hover:underline">
          {t("nav.requests")}
        </Link>
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("spend.failed.none")} />
          ) : (
            <Table
              label={t("spend.failed")}
              rows={data}
              rowKey={({ id }) => id}
              columns={requestColumns(t).filter(({ key }) => shown.includes(key))}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
