/** The navigation of the reference: the operations of one API by their groups, with a filter. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { Input } from "../../ui/input.tsx";
import { Method } from "./method.tsx";
import type { Api, Operation } from "./openapi-document.ts";

interface OperationListProps {
  readonly api: Api;
  readonly operations: readonly Operation[];
}

const textOf = ({ method, path, summary, tags }: Operation): string =>
  [method, path, summary, ...tags].join(" ").toLowerCase();

export function OperationList({ api, operations }: OperationListProps) {
  const t = useT();
  const [search, setSearch] = useState("");
  const words = search.toLowerCase().split(/\s+/);
  const found = operations.filter((each) => words.every((word) => textOf(each).includes(word)));
  const groups = [...Map.groupBy(found, ({ tags }) => tags[0] ?? "")];
  return (
    <>
      <Input
        type="search"
        className="shrink-0"
        aria-label={t("reference.filter")}
        placeholder={t("reference.filter")}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      {found.length === 0 && <p className="px-2 text-muted">{t("table.noMatch")}</p>}
      <nav
        aria-label={t("nav.reference")}
        className="flex min-h-0 flex-col gap-3 lg:overflow-y-auto"
      >
        {groups.map(([tag, members]) => (
          <div key={tag}>
            <p className="px-2 pb-1 text-xs font-medium text-muted first-letter:uppercase">
              {tag.replaceAll(/[_-]/g, " ")}
            </p>
            <ul>
              {members.map(({ operationId, method, path, summary }) => (
                <li key={operationId}>
                  <Link
                    to="/reference/{-$api}/{-$operation}"
                    params={{ api, operation: operationId }}
                    title={summary}
                    className="flex items-baseline gap-2 rounded-md px-2 py-1 hover:bg-sunken aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium"
                  >
                    <Method method={method} />
                    <span className="min-w-0 font-mono text-xs break-all">{shortPath(path)}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
    </>
  );
}

/** All operations of the admin API begin alike. */
const shortPath = (path: string): string => path.replace(/^\/admin\/api/, "");
