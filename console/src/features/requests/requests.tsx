/** The requests of the ledger: a search, or the live tail. */
import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { RequestPage } from "../../../../contract/admin.ts";
import { call, pathWithQuery } from "../../api/client.ts";
import { useLanguage, useT } from "../../i18n/messages.ts";
import { dateTime } from "../../lib/time.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { LiveRequests } from "./live-requests.tsx";
import { RequestFilters } from "./request-filters.tsx";
import { RequestRows } from "./request-rows.tsx";
import { listFilters, type RequestsSearch, readRequestsSearch } from "./requests-search.ts";

/** New requests are shown within this time. */
const refreshMs = 2000;

const requestsQuery = (search: RequestsSearch) =>
  infiniteQueryOptions({
    queryKey: ["/requests", search],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...listFilters(search), limit: 50, cursor: pageParam };
      return call<RequestPage>(pathWithQuery("/requests", query), { signal });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    // Only the first page of an unfiltered list is refreshed: a search may read many rows, and a user reads further
    // pages.
    ...(Object.keys(search).length === 0 && {
      refetchInterval: ({
        state,
      }: {
        state: { data?: { pages: readonly unknown[] } | undefined };
      }) => ((state.data?.pages.length ?? 0) > 1 ? (false as const) : refreshMs),
    }),
  });

export function RequestsPage() {
  const t = useT();
  // The router also keeps parameters that are not valid.
  const search = readRequestsSearch({ ...useSearch({ from: "/signed-in/requests" }) });
  const navigate = useNavigate({ from: "/requests" });
  const isLive = search.live !== undefined;
  // Each search is in the history, so that Back returns to the search before.
  const change = (changes: Record<string, string>): void => {
    navigate({ search: readRequestsSearch({ ...search, ...changes }) });
  };
  // Back leaves the list, and not each request that was open.
  const open = (id: string | undefined): void => {
    navigate({
      search: (before: object) => readRequestsSearch({ ...before, open: id }),
      replace: search.open !== undefined,
      resetScroll: false,
    });
  };
  return (
    <Page
      title={t("nav.requests")}
      description={t("requests.description")}
      actions={
        <Button
          look={isLive ? "secondary" : "primary"}
          aria-pressed={isLive}
          onClick={() => change({ live: isLive ? "" : "true" })}
        >
          {isLive ? t("requests.live.stop") : t("requests.live")}
        </Button>
      }
    >
      <RequestFilters search={search} onChange={change} />
      <Card>
        {isLive ? (
          <LiveRequests search={search} onOpen={open} />
        ) : (
          <FoundRequests search={search} onOpen={open} />
        )}
      </Card>
    </Page>
  );
}

interface FoundRequestsProps {
  readonly search: RequestsSearch;
  readonly onOpen: (id: string | undefined) => void;
}

function FoundRequests({ search, onOpen }: FoundRequestsProps) {
  const { t, language } = useLanguage();
  const { open: _open, ...filters } = search;
  const query = useInfiniteQuery(requestsQuery(filters));
  const isSearch = Object.keys(filters).length > 0;
  return (
    <QueryView query={query}>
      {({ pages }) => {
        const rows = pages.flatMap(({ data }) => data);
        const scanned = pages.at(-1)?.scanned_until ?? null;
        return (
          <>
            {rows.length === 0 ? (
              <Empty title={t(isSearch ? "requests.none" : "requests.noneYet")} />
            ) : (
              <RequestRows
                rows={rows}
                hasMore={query.hasNextPage}
                search={search}
                onOpen={onOpen}
              />
            )}
            {query.hasNextPage && (
              <div className="flex flex-wrap items-center justify-center gap-3 border-t border-line p-3">
                {scanned !== null && (
                  <span className="text-muted">
                    {t("requests.scanned", { time: dateTime(scanned, language) })}
                  </span>
                )}
                <Button onClick={() => query.fetchNextPage()} disabled={query.isFetchingNextPage}>
                  {scanned === null ? t("action.next") : t("requests.searchOn")}
                </Button>
              </div>
            )}
          </>
        );
      }}
    </QueryView>
  );
}
