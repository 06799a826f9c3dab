/** Follows requests as they end, by server-sent events. */
import { useEffect, useState } from "react";
import type { LiveDropped, LiveRequests, ShownRequest } from "../../../contract/admin.ts";
import { pathWithQuery } from "../../api/client.ts";
import type { RequestsSearch } from "./requests-search.ts";

export interface LiveState {
  readonly isOpen: boolean;
  /** The newest first. */
  readonly requests: readonly ShownRequest[];
  /** Requests that were not sent, because there were too many. */
  readonly leftOut: number;
}

const maxShown = 200;
const initial: LiveState = { isOpen: false, requests: [], leftOut: 0 };

export function useLiveRequests(search: RequestsSearch): LiveState {
  const [state, setState] = useState(initial);
  const { range: _range, request_id: _id, ...filters } = search;
  const path = pathWithQuery("/admin/api/requests/live", filters);
  useEffect(() => {
    setState(initial);
    // The browser connects again by itself when the server ends the stream.
    const source = new EventSource(path);
    source.onopen = () => setState((before) => ({ ...before, isOpen: true }));
    source.onerror = () => setState((before) => ({ ...before, isOpen: false }));
    source.addEventListener("requests", ({ data }: MessageEvent<string>) => {
      const batch = JSON.parse(data) as LiveRequests;
      setState((before) => ({
        isOpen: true,
        requests: [...batch.data.toReversed(), ...before.requests].slice(0, maxShown),
        leftOut: before.leftOut + batch.skipped,
      }));
    });
    source.addEventListener("dropped", ({ data }: MessageEvent<string>) => {
      const { count } = JSON.parse(data) as LiveDropped;
      setState((before) => ({ ...before, leftOut: before.leftOut + count }));
    });
    return () => source.close();
  }, [path]);
  return state;
}
