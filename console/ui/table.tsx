/** A table. On narrow screens each row is a card, in which every value has the name of its column. */
import type { ReactNode } from "react";
import { classNames } from "../lib/class-names.ts";

export interface Column<Row> {
  readonly key: string;
  readonly header: string;
  readonly align?: "right";
  readonly cell: (row: Row) => ReactNode;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
}

export function Table<Row>({ label, columns, rows, rowKey }: TableProps<Row>) {
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
            {columns.map(({ key, header, align }) => (
              <th
                key={key}
                scope="col"
                className={classNames("px-4 py-2 font-medium", align === "right" && "text-right")}
              >
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-sm:block">
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              className="border-t border-line hover:bg-sunken/50 max-sm:flex max-sm:flex-col max-sm:gap-1.5 max-sm:px-4 max-sm:py-3 max-sm:first:border-t-0"
            >
              {columns.map(({ key, header, align, cell }) => (
                <td
                  key={key}
                  data-label={header}
                  className={classNames(
                    "px-4 py-2 align-top max-sm:has-[>div:empty]:hidden max-sm:flex max-sm:min-w-0 max-sm:gap-3 max-sm:p-0 max-sm:break-words",
                    "max-sm:before:w-28 max-sm:before:shrink-0 max-sm:before:text-xs/5 max-sm:before:text-muted max-sm:before:content-[attr(data-label)]",
                    align === "right" && "text-right tabular-nums max-sm:text-left",
                  )}
                >
                  <div className="min-w-0">{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
