import { useT } from "../../i18n/messages.ts";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { requestColumns } from "./request-columns.tsx";
import type { RequestsSearch } from "./requests-search.ts";
import { useLiveRequests } from "./use-live-requests.ts";

/** The live tail, with the filters of the search except the times and the request id. */
export function LiveRequests({ search }: { search: RequestsSearch }) {
  const t = useT();
  const { isOpen, requests, leftOut } = useLiveRequests(search);
  return (
    <>
      {leftOut > 0 && (
        <p role="status" className="border-b border-line px-4 py-2 text-muted">
          {t("requests.live.left", { count: leftOut })}
        </p>
      )}
      {requests.length === 0 ? (
        <Empty title={isOpen ? t("requests.live.waiting") : t("requests.live.connecting")} />
      ) : (
        <Table
          label={t("nav.requests")}
          columns={requestColumns(t)}
          rows={requests}
          rowKey={({ id }) => id}
        />
      )}
    </>
  );
}
