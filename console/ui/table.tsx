/** A table that scrolls sideways on narrow screens. */
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
      <table className="w-full border-collapse text-sm">
        <thead>
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
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className="border-t border-line hover:bg-sunken/50">
              {columns.map(({ key, align, cell }) => (
                <td
                  key={key}
                  className={classNames(
                    "px-4 py-2 align-top",
                    align === "right" && "text-right tabular-nums",
                  )}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
