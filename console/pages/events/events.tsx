/** Events of the gateway, and their deliveries to webhooks. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ShownEvent, ShownWebhook } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { listQuery, pagedQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { PagedTable } from "../../ui/paged-table.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

const eventsQuery = pagedQuery<ShownEvent>("/events");
const webhooksQuery = listQuery<ShownWebhook>("/webhooks");

export function EventsPage() {
  const t = useT();
  const events = useInfiniteQuery({ ...eventsQuery, refetchInterval: 5_000 });
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval: 5_000 });
  const queryClient = useQueryClient();
  const post = async (path: string): Promise<void> => {
    await call(path, { method: "POST", body: {} });
    await queryClient.invalidateQueries({ queryKey: eventsQuery.queryKey });
    await queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
  };
  return (
    <Page title={t("nav.events")} description={t("events.description")}>
      <Card title={t("events.webhooks")}>
        <QueryView query={webhooks}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title={t("events.webhooks.none")} />
            ) : (
              <Table
                label={t("events.webhooks")}
                rows={data}
                rowKey={({ id }) => id}
                columns={[
                  {
                    key: "url",
                    header: "URL",
                    cell: ({ url }) => <code className="font-mono text-xs break-all">{url}</code>,
                  },
                  {
                    key: "events",
                    header: t("nav.events"),
                    cell: ({ events: globs }) => globs.join(", "),
                  },
                  {
                    key: "state",
                    header: t("keys.state"),
                    cell: ({ state, consecutive_failures }) => (
                      <Badge tone={state === "gone" || consecutive_failures > 0 ? "bad" : "good"}>
                        {t(`events.webhook.${state}`)}
                      </Badge>
                    ),
                  },
                  {
                    key: "waiting",
                    header: t("events.waiting"),
                    align: "right",
                    cell: ({ waiting }) => waiting,
                  },
                  {
                    key: "actions",
                    header: t("column.actions"),
                    cell: ({ id }) => (
                      <Button size="small" onClick={() => post(`/webhooks/${id}/test`)}>
                        {t("events.sendTest")}
                      </Button>
                    ),
                  },
                ]}
              />
            )
          }
        </QueryView>
      </Card>
      <Card title={t("events.events")}>
        <PagedTable
          label={t("events.events")}
          query={events}
          rowKey={({ id }) => id}
          empty={t("events.none")}
          columns={[
            {
              key: "at",
              header: t("column.time"),
              cell: ({ timestamp }) => <Time iso={timestamp} />,
            },
            {
              key: "type",
              header: t("events.type"),
              cell: ({ type }) => <code className="font-mono text-xs">{type}</code>,
            },
            {
              key: "data",
              header: t("events.data"),
              cell: ({ data }) => (
                <code className="font-mono text-xs break-all">{JSON.stringify(data)}</code>
              ),
            },
            {
              key: "deliveries",
              header: t("events.deliveries"),
              cell: ({ id, deliveries }) => (
                <ul className="flex flex-col gap-1">
                  {deliveries.map(({ webhook, state, status, problem }) => (
                    <li key={webhook} className="flex flex-wrap items-center gap-1">
                      <Badge tone={state === "delivered" ? "good" : "warn"}>
                        {state} {status}
                      </Badge>
                      <span className="text-xs text-muted">{problem}</span>
                      <Button
                        size="small"
                        look="quiet"
                        onClick={() => post(`/webhooks/${webhook}/deliveries/${id}`)}
                      >
                        {t("events.redeliver")}
                      </Button>
                    </li>
                  ))}
                </ul>
              ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}
