/** Follows requests as they end, by server-sent events. */
import { useEffect, useState } from "react";
import type {
  LiveBatch,
  LiveDropped,
  RequestPage,
  ShownRequest,
} from "../../../../contract/admin.ts";
import { call, checkSession, pathWithQuery } from "../../api/client.ts";
import { listFilters, type RequestsSearch } from "./requests-search.ts";

interface LiveState {
  readonly isOpen: boolean;
  /** The newest first. */
  readonly requests: readonly ShownRequest[];
  /** Requests that were not sent, because there were too many. */
  readonly leftOut: number;
}

const maxShown = 200;
/** Requests that ended before the connection was open are in the ledger after this time. */
const inLedgerAfterMs = 1000;

/** A request may arrive both in the stream and in the list; it is shown once. */
function merge(some: readonly ShownRequest[], more: readonly ShownRequest[]): ShownRequest[] {
  const byId = new Map([...some, ...more].map((request) => [request.id, request]));
  return [...byId.values()].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, maxShown);
}
const initial: LiveState = { isOpen: false, requests: [], leftOut: 0 };

export function useLiveRequests(search: RequestsSearch): LiveState {
  const [state, setState] = useState(initial);
  const { from: _from, to: _to, request_id: _id, ...filters } = listFilters(search);
  const path = pathWithQuery("/admin/api/requests/live", filters);
  const listPath = pathWithQuery("/requests", { ...filters, limit: 20 });
  useEffect(() => {
    setState(initial);
    // The browser connects again by itself when the server ends the stream.
    const source = new EventSource(path);
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const fillGap = async (): Promise<void> => {
      try {
        const { data } = await call<RequestPage>(listPath, { signal: abort.signal });
        setState((before) => ({ ...before, requests: merge(before.requests, data) }));
      } catch {
        // The page still has the requests of the stream.
      }
    };
    source.onopen = () => {
      setState((before) => ({ ...before, isOpen: true }));
      clearTimeout(timer);
      timer = setTimeout(() => void fillGap(), inLedgerAfterMs);
    };
    source.onerror = () => {
      setState((before) => ({ ...before, isOpen: false }));
      // The server refused the stream, perhaps because the session has ended. A lost connection is opened again.
      if (source.readyState === EventSource.CLOSED) checkSession();
    };
    source.addEventListener("requests", ({ data }: MessageEvent<string>) => {
      const batch = JSON.parse(data) as LiveBatch;
      setState((before) => ({
        isOpen: true,
        requests: merge(before.requests, batch.data),
        leftOut: before.leftOut + batch.skipped,
      }));
    });
    source.addEventListener("dropped", ({ data }: MessageEvent<string>) => {
      const { count } = JSON.parse(data) as LiveDropped;
      setState((before) => ({ ...before, leftOut: before.leftOut + count }));
    });
    return () => {
      clearTimeout(timer);
      abort.abort();
      source.close();
    };
  }, [path, listPath]);
  return state;
}
