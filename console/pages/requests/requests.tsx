/** The requests of the ledger: search, and a live tail that follows new ones. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ShownRequest } from "../../../contract/admin.ts";
import { pagedQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { dollars, milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Input, Select } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Time } from "../../ui/time.tsx";
import { type RequestsSearch, readRequestsSearch } from "./requests-search.ts";

const followMs = 2_000;

export function RequestsPage() {
  const t = useT();
  const search = useSearch({ from: "/signed-in/requests" });
  const navigate = useNavigate({ from: "/requests" });
  const query = useInfiniteQuery({
    ...pagedQuery<ShownRequest>("/requests", { ...search, limit: 50 }),
    refetchInterval: followMs,
  });
  const setFilter = (changes: { [Name in keyof RequestsSearch]?: string }): void => {
    const filters = Object.entries({ ...search, ...changes }).filter(([, value]) => value !== "");
    navigate({ search: readRequestsSearch(Object.fromEntries(filters)), replace: true });
  };
  return (
    <Page title={t("nav.requests")} description={t("requests.description")}>
      <div className="grid gap-2 sm:grid-cols-4">
        <Input
          aria-label={t("requests.model")}
          placeholder={t("requests.model")}
          value={search.model ?? ""}
          onChange={(event) => setFilter({ model: event.target.value })}
        />
        <Input
          aria-label={t("requests.key")}
          placeholder={t("requests.key")}
          value={search.key ?? ""}
          onChange={(event) => setFilter({ key: event.target.value })}
        />
        <Select
          aria-label={t("requests.status")}
          value={search.status ?? ""}
          onChange={(event) => setFilter({ status: event.target.value })}
        >
          <option value="">{t("requests.status.all")}</option>
          <option value="ok">{t("requests.status.ok")}</option>
          <option value="error">{t("requests.status.error")}</option>
        </Select>
        <Input
          aria-label={t("requests.error")}
          placeholder={t("requests.error")}
          value={search.error ?? ""}
          onChange={(event) => setFilter({ error: event.target.value })}
        />
      </div>
      <Card>
        <PagedTable
          label={t("nav.requests")}
          query={query}
          rowKey={({ id }) => id}
          empty={t("requests.none")}
          columns={[
            {
              key: "at",
              header: t("column.time"),
              cell: ({ at, id }) => (
                <Link
                  to="/requests/$id"
                  params={{ id }}
                  className="text-accent underline-offset-2 hover:underline"
                >
                  <Time iso={at} />
                </Link>
              ),
            },
            {
              key: "status",
              header: t("requests.status"),
              cell: ({ status, error }) => (
                <Badge tone={status < 400 ? "good" : "bad"}>
                  {status}
                  {error !== null && ` ${error}`}
                </Badge>
              ),
            },
            {
              key: "model",
              header: t("requests.model"),
              cell: ({ model, endpoint }) => (
                <>
                  <code className="font-mono text-xs">{model ?? "–"}</code>
                  <p className="text-xs text-muted">{endpoint}</p>
                </>
              ),
            },
            {
              key: "key",
              header: t("requests.key"),
              cell: ({ key_name, key_id }) => key_name ?? key_id,
            },
            {
              key: "upstream",
              header: t("requests.upstream"),
              cell: ({ upstream, attempts }) =>
                upstream === null ? "–" : `${upstream}${attempts > 1 ? ` (${attempts})` : ""}`,
            },
            {
              key: "latency",
              header: t("requests.latency"),
              align: "right",
              cell: ({ latency_ms }) => milliseconds(latency_ms),
            },
            {
              key: "cost",
              header: t("figure.cost"),
              align: "right",
              cell: ({ cost }) => dollars(cost),
            },
          ]}
        />
      </Card>
    </Page>
  );
}
