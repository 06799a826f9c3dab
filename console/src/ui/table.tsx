/** A table. On narrow screens each row is a card, in which every value has the name of its column. */
import {
  createSortedRowModel,
  rowSortingFeature,
  sortFn_alphanumeric,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import type { ReactNode } from "react";
import { classNames } from "../lib/class-names.ts";

export interface Column<Row> {
  readonly key: string;
  readonly header: string;
  readonly align?: "right";
  readonly cell: (row: Row) => ReactNode;
  /** The value by which rows are sorted. `null`: unknown, always last. Absent: the column cannot be sorted. */
  readonly sortBy?: (row: Row) => string | number | null;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** False: `rows` is a part of a list, and sorting it would hide that. */
  readonly isComplete?: boolean;
}

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
const ariaSort = { asc: "ascending", desc: "descending" } as const;
const sortSigns = { asc: "▲", desc: "▼" } as const;

export function Table<Row extends object>(props: TableProps<Row>) {
  const { label, columns, rows, rowKey, isComplete = true } = props;
  const table = useTable({
    features,
    data: rows,
    getRowId: rowKey,
    enableSorting: isComplete,
    columns: columns.map(({ key, header, sortBy }) => ({
      id: key,
      header,
      ...(sortBy && { accessorFn: (row: Row) => sortBy(row) ?? undefined }),
      sortFn: sortFn_alphanumeric,
      sortUndefined: "last" as const,
    })),
  });
  return (
    <section
      className="overflow-x-auto"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
      tabIndex={0}
      aria-label={label}
    >
      <table className="w-full border-collapse text-sm max-sm:block">
        <thead className="max-sm:sr-only">
          <tr className="text-left text-xs text-muted">
            {table.getFlatHeaders().map(({ id, column }, at) => {
              const order = column.getIsSorted();
              return (
                <th
                  key={id}
                  scope="col"
                  {...(order && { "aria-sort": ariaSort[order] })}
                  className={classNames(
                    "px-4 py-2 font-medium",
                    columns[at]?.align === "right" && "text-right",
                  )}
                >
                  {column.getCanSort() ? (
                    <button
                      type="button"
                      className="cursor-pointer hover:text-ink"
                      onClick={column.getToggleSortingHandler()}
                    >
                      {columns[at]?.header}
                      {order && <span aria-hidden="true"> {sortSigns[order]}</span>}
                    </button>
                  ) : (
                    columns[at]?.header
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody className="max-sm:block">
          {table.getRowModel().rows.map((row) => (
            <tr
              key={row.id}
              className="border-t border-line hover:bg-sunken/50 max-sm:flex max-sm:flex-col max-sm:gap-1.5 max-sm:px-4 max-sm:py-3 max-sm:first:border-t-0"
            >
              {columns.map(({ key, header, align, cell }) => {
                const content = cell(row.original);
                const isEmpty = content === null || content === undefined || content === false;
                return (
                  <td
                    key={key}
                    data-label={header}
                    className={classNames(
                      "px-4 py-2 align-top max-sm:min-w-0 max-sm:gap-3 max-sm:p-0 max-sm:break-words",
                      "max-sm:before:w-28 max-sm:before:shrink-0 max-sm:before:text-xs/5 max-sm:before:text-muted max-sm:before:content-[attr(data-label)]",
                      isEmpty ? "max-sm:hidden" : "max-sm:flex",
                      align === "right" &&
                        "text-right whitespace-nowrap tabular-nums max-sm:text-left",
                    )}
                  >
                    <div className="min-w-0">{content}</div>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
