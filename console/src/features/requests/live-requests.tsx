import { useState } from "react";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/states.tsx";
import { RequestRows } from "./request-rows.tsx";
import type { RequestsSearch } from "./requests-search.ts";
import { useLiveRequests } from "./use-live-requests.ts";

interface LiveRequestsProps {
  readonly search: RequestsSearch;
  readonly onOpen: (id: string | undefined) => void;
}

/** The live tail, with the filters of the search except the times and the request id. */
export function LiveRequests({ search, onOpen }: LiveRequestsProps) {
  const t = useT();
  const { isOpen, requests, leftOut } = useLiveRequests(search);
  /** The rows while it is paused. The stream stays open, and goes on with what ended meanwhile. */
  const [paused, setPaused] = useState<typeof requests>();
  const rows = paused ?? requests;
  const waiting = requests.filter(({ id }) => !rows.some((row) => row.id === id)).length;
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
        <Button
          size="small"
          aria-pressed={paused !== undefined}
          onClick={() => setPaused(paused ? undefined : requests)}
        >
          {t(paused ? "requests.live.resume" : "requests.live.pause")}
        </Button>
        <span role="status" className="text-muted">
          {paused && t("requests.live.paused", { count: waiting })}
          {leftOut > 0 && t("requests.live.left", { count: leftOut })}
        </span>
      </div>
      {rows.length === 0 ? (
        <Empty title={isOpen ? t("requests.live.waiting") : t("requests.live.connecting")} />
      ) : (
        <RequestRows rows={rows} hasMore={false} search={search} onOpen={onOpen} />
      )}
    </>
  );
}
