/** The processes that serve: version, load, health, and ledger rows that are not in the database yet. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import type { Page as ListPage, ShownReplica } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { count } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

const replicasQuery = queryOptions({
  queryKey: ["/replicas"],
  queryFn: ({ signal }) => call<ListPage<ShownReplica>>("/replicas", { signal }),
  refetchInterval: 5_000,
});

export function ReplicasPage() {
  const t = useT();
  const query = useQuery(replicasQuery);
  return (
    <Page title={t("nav.replicas")} description={t("replicas.description")}>
      <Card>
        <QueryView query={query}>
          {({ data }) => (
            <Table
              label={t("nav.replicas")}
              rows={data}
              rowKey={({ id }) => id}
              columns={[
                {
                  key: "id",
                  header: t("request.replica"),
                  cell: ({ id }) => <code className="font-mono text-xs">{id}</code>,
                },
                {
                  key: "host",
                  header: t("replicas.host"),
                  sortBy: ({ host }) => host,
                  cell: ({ host }) => <span className="break-all">{host}</span>,
                },
                {
                  key: "version",
                  header: t("replicas.version"),
                  sortBy: ({ version }) => version,
                  cell: ({ version }) => version,
                },
                {
                  key: "startedAt",
                  header: t("statistics.startedAt"),
                  sortBy: ({ started_at }) => started_at,
                  cell: ({ started_at }) => <Time iso={started_at} />,
                },
                {
                  key: "health",
                  header: t("replicas.health"),
                  cell: (replica) => <Health replica={replica} />,
                },
                {
                  key: "inFlight",
                  header: t("statistics.inFlight"),
                  align: "right",
                  sortBy: ({ requests_in_flight }) => requests_in_flight,
                  cell: ({ requests_in_flight }) => count(requests_in_flight),
                },
                {
                  key: "queued",
                  header: t("statistics.queued"),
                  align: "right",
                  sortBy: ({ requests_queued }) => requests_queued,
                  cell: ({ requests_queued }) => count(requests_queued),
                },
                {
                  key: "backlog",
                  header: t("replicas.backlog"),
                  align: "right",
                  sortBy: ({ ledger_backlog }) => ledger_backlog,
                  cell: ({ ledger_backlog }) => count(ledger_backlog),
                },
              ]}
            />
          )}
        </QueryView>
      </Card>
    </Page>
  );
}

function Health({ replica }: { replica: ShownReplica }) {
  const t = useT();
  const unavailable = (["database", "redis", "object_store"] as const).filter(
    (store) => replica[store] === "unavailable",
  );
  return (
    <div className="flex flex-wrap gap-1">
      <Badge tone={replica.ready ? "good" : "bad"}>
        {t(replica.ready ? "replicas.ready" : "replicas.notReady")}
      </Badge>
      {unavailable.map((store) => (
        <Badge key={store} tone="warn">
          {t(`replicas.unavailable.${store}`)}
        </Badge>
      ))}
      {replica.unhealthy_targets.map(({ upstream, model, state }) => (
        <Badge key={`${upstream} ${model}`} tone={state === "ejected" ? "bad" : "warn"}>
          {t("text.pair", { name: `${upstream}/${model}`, value: t(`target.${state}`) })}
        </Badge>
      ))}
    </div>
  );
}
