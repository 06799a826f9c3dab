/** A table of a long list, with a button for the next page. */
import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Page } from "../../../contract/admin.ts";
import { useT } from "../i18n/messages.ts";
import { Button } from "./button.tsx";
import { Empty, QueryView } from "./states.tsx";
import { type Column, Table } from "./table.tsx";

interface PagedTableProps<Row> {
  readonly label: string;
  readonly query: UseInfiniteQueryResult<{ pages: Page<Row>[] }>;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  readonly empty: string;
  /** The next step of a user whose list is empty. */
  readonly emptyHint?: ReactNode;
}

export function PagedTable<Row extends object>({
  label,
  query,
  columns,
  rowKey,
  empty,
  emptyHint,
}: PagedTableProps<Row>) {
  const t = useT();
  return (
    <QueryView query={query}>
      {({ pages }) => {
        const rows = pages.flatMap(({ data }) => data);
        return (
          <>
            {rows.length === 0 ? (
              <Empty title={empty}>{emptyHint}</Empty>
            ) : (
              <Table
                label={label}
                columns={columns}
                rows={rows}
                rowKey={rowKey}
                isComplete={!query.hasNextPage}
              />
            )}
            {query.hasNextPage && (
              <div className="border-t border-line p-3 text-center">
                <Button onClick={() => query.fetchNextPage()} disabled={query.isFetchingNextPage}>
                  {t("action.next")}
                </Button>
              </div>
            )}
          </>
        );
      }}
    </QueryView>
  );
}
