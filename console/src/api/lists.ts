/** Queries of lists that the admin API pages. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Page } from "../../../contract/admin.ts";
import { call, pathWithQuery, type Query } from "./client.ts";

/** A list that is short enough for one page. */
export const listQuery = <Item>(path: string, query: Query = {}) =>
  queryOptions({
    queryKey: [path, query],
    queryFn: ({ signal }) => call<Page<Item>>(pathWithQuery(path, query), { signal }),
  });

/** A long list, page by page. */
export const pagedQuery = <Item>(path: string, query: Query = {}) =>
  infiniteQueryOptions({
    queryKey: [path, "paged", query],
    queryFn: ({ pageParam, signal }) =>
      call<Page<Item>>(pathWithQuery(path, { ...query, cursor: pageParam }), { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
