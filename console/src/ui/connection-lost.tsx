/**
 * Says that the data of the page are old, because the gateway does not respond, or that the page is, because the
 * gateway has another version of the console. The queries are sent again by themselves.
 */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { hasOtherBuild, subscribeToBuild } from "../api/chunks.ts";
import { isConnectionProblem } from "../api/client.ts";
import { isGatewayConnected, subscribeToConnection } from "../api/connection.ts";
import { useLanguage } from "../i18n/messages.ts";
import { dateTime } from "../lib/time.ts";
import { Button } from "./button.tsx";

/** Unix milliseconds of the oldest data on the page that could not be refreshed. Undefined if all data are fresh. */
function oldestData(queryClient: QueryClient): number | undefined {
  const times = queryClient
    .getQueryCache()
    .findAll({ type: "active" })
    .filter(({ state }) => state.data !== undefined && isConnectionProblem(state.error))
    .map(({ state }) => state.dataUpdatedAt);
  return times.length === 0 ? undefined : Math.min(...times);
}

export function ConnectionLost() {
  const { t, language } = useLanguage();
  const queryClient = useQueryClient();
  const since = useSyncExternalStore(
    (onChange) => queryClient.getQueryCache().subscribe(onChange),
    () => oldestData(queryClient),
  );
  const isConnected = useSyncExternalStore(subscribeToConnection, isGatewayConnected);
  const text =
    since === undefined
      ? t("state.offline")
      : t("state.connectionLost", { time: dateTime(new Date(since).toISOString(), language) });
  const isOld = useSyncExternalStore(subscribeToBuild, hasOtherBuild);
  return (
    <div role="status">
      {isOld && (
        <p className="flex flex-wrap items-center gap-3 bg-warn-soft px-4 py-2 text-warn">
          {t("state.newVersion")}
          <Button size="small" onClick={() => location.reload()}>
            {t("action.reload")}
          </Button>
        </p>
      )}
      {(since !== undefined || !isConnected) && (
        <p className="bg-bad-soft px-4 py-2 text-bad">{text}</p>
      )}
    </div>
  );
}
