/** API keys, with what each spent in the last 30 days. */
import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ApiKey } from "../../../../contract/admin.ts";
import { pagedQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { keyColumns } from "../keys/key-columns.tsx";
import { keyUseQuery } from "../keys/key-use-query.ts";

const shown: readonly string[] = ["name", "state", "models", "lastUsed", "spend"];

interface KeyCardProps {
  readonly project?: string;
  /** The id of a user. */
  readonly created_by?: string;
}

export function KeyCard({ project, created_by }: KeyCardProps) {
  const t = useT();
  const query = useInfiniteQuery(pagedQuery<ApiKey>("/keys", { project, created_by }));
  const pages = query.data?.pages.filter(({ data }) => data.length > 0) ?? [];
  const loaded = useQueries({ queries: pages.map(keyUseQuery) });
  const uses = new Map(loaded.flatMap(({ data }) => data?.data ?? []).map((use) => [use.id, use]));
  return (
    <Card
      title={t("nav.keys")}
      actions={
        <Link
          to="/keys"
          search={project === undefined ? {} : { project }}
          className="text-sm text-accent hover:underline"
        >
          {t("project.manageKeys")}
        </Link>
      }
    >
      <PagedTable
        label={t("nav.keys")}
        query={query}
        rowKey={({ id }) => id}
        empty={t("keys.none")}
        columns={keyColumns(t, (id) => uses.get(id)).filter(({ key }) => shown.includes(key))}
      />
    </Card>
  );
}
