/**
 * A table, in pages and with a search if it is long. On narrow screens each row is a card: its first value is the
 * title, and the others have the names of their columns.
 */
import {
  createSortedRowModel,
  rowSortingFeature,
  sortFn_alphanumeric,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react";
import { memo, type ReactNode, useDeferredValue, useState } from "react";
import { useT } from "../i18n/messages.ts";
import { classNames } from "../lib/class-names.ts";
import { Input } from "./input.tsx";
import { Pager } from "./pager.tsx";

export interface Column<Row> {
  readonly key: string;
  readonly header: string;
  readonly align?: "right";
  readonly cell: (row: Row) => ReactNode;
  /** The value by which rows are sorted. `null`: unknown, always last. If absent, the column cannot be sorted. */
  readonly sortBy?: (row: Row) => string | number | null;
  /** The column is left out of a table that is too narrow for it. If absent, it is always shown. */
  readonly priority?: keyof typeof priorities;
}

/** 2: shown in a window of 1440 pixels beside the menu. 3: shown in a window of 1600 pixels. */
const priorities = {
  2: "@max-[1100px]:hidden!",
  3: "@max-[1280px]:hidden!",
} as const;

const priorityOf = <Row,>({ priority }: Column<Row>): string =>
  priority === undefined ? "" : priorities[priority];

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** False: `rows` is a part of a list, and sorting it would hide that. */
  readonly isComplete?: boolean;
  /** The text in which a search finds the row. If absent, the page has a search of its own, or needs none. */
  readonly searchText?: (row: Row) => string;
  /** A click beside the links and buttons of a row opens it, and one on a link with `data-opens-row`. */
  readonly onOpenRow?: (key: string) => void;
  /** The row that is open. */
  readonly openRow?: string | undefined;
}

/** The column of the buttons of a row: what they do is written on them, so the header is for screen readers only. */
const actionsKey = "actions";
const cellPadding = "px-3 first:pl-4 last:pr-4";

/** The rows of one page, so that sorting and searching a long list is immediate. */
const pageRows = 50;
/** A shorter list is seen at a glance. */
const minSearchedRows = 10;

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
});
const ariaSort = { asc: "ascending", desc: "descending" } as const;
const sortIcons = { asc: ArrowUp, desc: ArrowDown } as const;

export function Table<Row extends object>(props: TableProps<Row>) {
  const { label, columns, rows: all, rowKey, isComplete = true, searchText } = props;
  const [search, setSearch] = useState("");
  const [page, setPage] = useState(0);
  const isSearched = searchText !== undefined && all.length >= minSearchedRows;
  const rows = isSearched ? matching(all, search, searchText) : all;
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
  const sorted = table.getRowModel().rows;
  // A search or a change of the data may leave fewer pages.
  const shownPage = Math.min(page, Math.ceil(sorted.length / pageRows) - 1);
  // The pages of an incomplete list come from the server.
  const shown = isComplete
    ? sorted.slice(shownPage * pageRows, (shownPage + 1) * pageRows)
    : sorted;
  const deferred = useDeferredValue(shown);
  return (
    <>
      {isSearched && (
        <TableSearch value={search} onChange={setSearch} isEmpty={sorted.length === 0} />
      )}
      <section
        className="@container overflow-x-auto"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        tabIndex={0}
        aria-label={label}
      >
        <table className="w-full border-collapse text-sm max-sm:block">
          <thead className="max-sm:sr-only">
            <tr className="text-left text-xs text-muted">
              {table.getFlatHeaders().map(({ id, column }, at) => {
                const order = column.getIsSorted();
                const own = columns[at];
                return (
                  <th
                    key={id}
                    scope="col"
                    {...(order && { "aria-sort": ariaSort[order] })}
                    className={classNames(
                      "py-2 font-medium whitespace-nowrap",
                      cellPadding,
                      own?.align === "right" && "text-right",
                      own && priorityOf(own),
                    )}
                  >
                    {column.getCanSort() ? (
                      <button
                        type="button"
                        className="inline-flex cursor-pointer items-center gap-1 hover:text-ink"
                        onClick={column.getToggleSortingHandler()}
                      >
                        {own?.header}
                        <SortMark order={order} />
                      </button>
                    ) : (
                      <span className={id === actionsKey ? "sr-only" : ""}>{own?.header}</span>
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <TableBody
            rows={deferred}
            columns={columns}
            openRow={props.openRow}
            onOpenRow={props.onOpenRow}
          />
        </table>
      </section>
      {isComplete && sorted.length > pageRows && (
        <Pager page={shownPage} pageRows={pageRows} rows={sorted.length} onChange={setPage} />
      )}
    </>
  );
}

interface TableBodyProps<Row> {
  readonly rows: readonly { readonly id: string; readonly original: Row }[];
  readonly columns: readonly Column<Row>[];
  readonly openRow: string | undefined;
  readonly onOpenRow: ((key: string) => void) | undefined;
}

/** A click with a key of the browser, such as one for a new tab, is left to the browser. */
function isOpening({ target, ctrlKey, metaKey, shiftKey }: MouseEvent): boolean {
  if (ctrlKey || metaKey || shiftKey || !(target instanceof Element)) return false;
  const control = target.closest("a, button, input, label");
  return control ? control.hasAttribute("data-opens-row") : getSelection()?.isCollapsed !== false;
}

/** Memoized: while a new order or search is prepared in small tasks, the rows before stay as they are. */
const TableBody = memo(function TableBody<Row>(props: TableBodyProps<Row>) {
  const { rows, columns, openRow, onOpenRow } = props;
  return (
    <tbody className="max-sm:block">
      {rows.map((row) => (
        <tr
          key={row.id}
          {...(onOpenRow && {
            // In the capture phase: the router does not follow a link whose default was prevented.
            onClickCapture: (event) => {
              if (!isOpening(event.nativeEvent)) return;
              event.preventDefault();
              onOpenRow(row.id);
            },
          })}
          className={classNames(
            "border-t border-line hover:bg-sunken/50 max-sm:relative max-sm:grid max-sm:grid-cols-2 max-sm:gap-x-4 max-sm:gap-y-2 max-sm:px-4 max-sm:py-3 max-sm:first:border-t-0",
            onOpenRow && "cursor-pointer",
            row.id === openRow && "bg-accent-soft",
          )}
        >
          {columns.map((column, at) => {
            const { key, header, align, cell } = column;
            const content = cell(row.original);
            // A dash says in a table that there is nothing. A card leaves the value out.
            const isEmpty = ["–", null, undefined, false].includes(content as string);
            return (
              <td
                key={key}
                data-label={key === actionsKey ? "" : header}
                className={classNames(
                  "py-1.5 max-sm:min-w-0 max-sm:p-0! max-sm:break-words",
                  cellPadding,
                  isEmpty ? "max-sm:hidden" : "max-sm:block",
                  // The first value is the title of the card, and the actions are beside it.
                  at === 0
                    ? "max-sm:col-span-2 max-sm:pr-12! max-sm:font-medium"
                    : key !== actionsKey &&
                        "max-sm:before:block max-sm:before:text-xs/5 max-sm:before:text-muted max-sm:before:content-[attr(data-label)]",
                  align === "right" && "text-right whitespace-nowrap tabular-nums max-sm:text-left",
                  key === actionsKey && "text-right max-sm:absolute max-sm:top-2 max-sm:right-2",
                  priorityOf(column),
                )}
              >
                <div className="min-w-0">{content}</div>
              </td>
            );
          })}
        </tr>
      ))}
    </tbody>
  );
}) as <Row>(props: TableBodyProps<Row>) => ReactNode;

/** Also while the column is not sorted, so that people see that it can be. */
function SortMark({ order }: { order: "asc" | "desc" | false }) {
  const Icon = order ? sortIcons[order] : ChevronsUpDown;
  return (
    <Icon size={12} aria-hidden="true" className={classNames("shrink-0", !order && "opacity-60")} />
  );
}

interface TableSearchProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isEmpty: boolean;
}

function TableSearch({ value, onChange, isEmpty }: TableSearchProps) {
  const t = useT();
  return (
    <div className="flex items-center gap-3 border-b border-line p-3">
      <Input
        type="search"
        aria-label={t("table.search")}
        placeholder={t("table.search")}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="max-w-sm"
      />
      <span role="status" className="text-sm text-muted">
        {isEmpty && t("table.noMatch")}
      </span>
    </div>
  );
}

/** The rows whose text has every word of the search. */
function matching<Row>(
  rows: readonly Row[],
  search: string,
  textOf: (row: Row) => string,
): readonly Row[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = textOf(row).toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
