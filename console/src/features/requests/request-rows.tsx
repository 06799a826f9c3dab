/** A list of requests: how many, with which columns, its export, and the open one beside it. */
import { Columns3, Download } from "lucide-react";
import { useState } from "react";
import type { ShownRequest } from "../../../../contract/admin.ts";
import { pathWithQuery } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Button, buttonStyle } from "../../ui/button.tsx";
import { Popover } from "../../ui/popover.tsx";
import { Table } from "../../ui/table.tsx";
import { requestColumns } from "./request-columns.tsx";
import { RequestPanel } from "./request-panel.tsx";
import { listFilters, type RequestsSearch } from "./requests-search.ts";

const storageKey = "vexel.requests.hidden-columns";
/** Until the user shows them. */
const hiddenAtFirst: readonly string[] = ["tokens", "images", "end_user", "tags"];

function storedHidden(): readonly string[] {
  const stored = localStorage.getItem(storageKey);
  return stored === null ? hiddenAtFirst : stored.split(",");
}

interface RequestRowsProps {
  readonly rows: readonly ShownRequest[];
  readonly hasMore: boolean;
  readonly search: RequestsSearch;
  readonly onOpen: (id: string | undefined) => void;
}

export function RequestRows({ rows, hasMore, search, onOpen }: RequestRowsProps) {
  const t = useT();
  const [hidden, setHidden] = useState(storedHidden);
  const columns = requestColumns(t);
  const toggle = (key: string): void => {
    const next = hidden.includes(key) ? hidden.filter((each) => each !== key) : [...hidden, key];
    localStorage.setItem(storageKey, next.join(","));
    setHidden(next);
  };
  return (
    <>
      <div className="flex flex-wrap items-center justify-end gap-2 border-b border-line px-4 py-2">
        <span role="status" className="mr-auto text-muted">
          {t(hasMore ? "requests.countMore" : "requests.count", { count: rows.length })}
        </span>
        <Popover
          label={t("requests.columns")}
          align="end"
          className="w-52!"
          trigger={
            <Button size="small">
              <Columns3 className="size-3.5" />
              {t("requests.columns")}
            </Button>
          }
        >
          <ul className="flex flex-col gap-1.5">
            {columns.map(({ key, header }) => (
              <li key={key}>
                <label className="flex items-center gap-2">
                  <input
                    type="checkbox"
                    checked={!hidden.includes(key)}
                    // Rows are opened by their time.
                    disabled={key === "at"}
                    onChange={() => toggle(key)}
                  />
                  {header}
                </label>
              </li>
            ))}
          </ul>
        </Popover>
        <a
          href={pathWithQuery("/admin/api/requests.csv", listFilters(search))}
          download="requests.csv"
          className={buttonStyle({ size: "small" })}
        >
          <Download className="size-3.5" aria-hidden="true" />
          {t("usage.csv")}
        </a>
      </div>
      <Table
        label={t("nav.requests")}
        columns={columns.filter(({ key }) => !hidden.includes(key))}
        rows={rows}
        rowKey={({ id }) => id}
        openRow={search.open}
        onOpenRow={onOpen}
      />
      <RequestPanel ids={rows.map(({ id }) => id)} open={search.open} onOpen={onOpen} />
    </>
  );
}
