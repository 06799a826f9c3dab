/** Webhooks: where events are sent. Their deliveries are on the page of events. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { WebhookEntity } from "../../../../contract/admin.ts";
import { deleteEntity } from "../../api/entities.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { LongText } from "../../ui/long-text.tsx";
import { OriginBadge } from "../../ui/origin.tsx";
import { Page } from "../../ui/page.tsx";
import { RowMenu } from "../../ui/row-menu.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { WebhookForm } from "./webhook-form.tsx";
import { WebhookState } from "./webhook-state.tsx";
import { WebhookTestButton } from "./webhook-test.tsx";

const webhooksQuery = listQuery<WebhookEntity>("/webhooks");

export function WebhooksPage() {
  const t = useT();
  const query = useQuery(webhooksQuery);
  const queryClient = useQueryClient();
  const [edited, setEdited] = useState<WebhookEntity | "new">();
  const [tested, setTested] = useState<WebhookEntity>();
  const reload = () => queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
  return (
    <Page
      title={t("events.webhooks")}
      description={t("webhooks.description")}
      actions={
        <Button look="primary" onClick={() => setEdited("new")}>
          {t("webhooks.create")}
        </Button>
      }
    >
      <Card>
        <QueryView query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title={t("events.webhooks.none")} />
            ) : (
              <Table
                label={t("events.webhooks")}
                rows={data}
                rowKey={({ id }) => id}
                searchText={({ id, url }) => `${id} ${url}`}
                columns={[
                  {
                    key: "url",
                    header: t("webhooks.name"),
                    sortBy: ({ name, url }) => name ?? url,
                    cell: ({ name, url, origin, problem }) => (
                      <div className="flex flex-col gap-0.5">
                        <span className="flex flex-wrap items-center gap-2 font-medium">
                          {name} <OriginBadge origin={origin} />
                        </span>
                        <code className="font-mono text-xs">
                          <LongText text={url} />
                        </code>
                        {problem !== null && <span className="text-xs text-bad">{problem}</span>}
                      </div>
                    ),
                  },
                  {
                    key: "events",
                    header: t("webhooks.events"),
                    cell: ({ events }) => (
                      <code className="font-mono text-xs">
                        <LongText text={events.join(", ")} />
                      </code>
                    ),
                  },
                  {
                    key: "state",
                    header: t("keys.state"),
                    sortBy: ({ state }) => t(`events.webhook.${state}`),
                    cell: (webhook) => <WebhookState webhook={webhook} />,
                  },
                  {
                    key: "actions",
                    header: t("column.actions"),
                    cell: (webhook) => (
                      <RowMenu
                        name={webhook.name ?? webhook.url}
                        actions={[
                          { label: t("events.sendTest"), onSelect: () => setTested(webhook) },
                          !webhook.read_only && {
                            label: t("action.edit"),
                            onSelect: () => setEdited(webhook),
                          },
                          !webhook.read_only && {
                            label: t("action.delete"),
                            isDangerous: true,
                            confirm: {
                              title: t("webhooks.delete.title", { name: webhook.name ?? "" }),
                              description: t("webhooks.delete.description", {
                                count: webhook.waiting,
                              }),
                            },
                            onSelect: async () => {
                              await deleteEntity("/webhooks", webhook);
                              await reload();
                            },
                          },
                        ]}
                      />
                    ),
                  },
                ]}
              />
            )
          }
        </QueryView>
      </Card>
      <Dialog
        title={t("webhooks.testOf", { name: tested?.name ?? tested?.url ?? "" })}
        isOpen={tested !== undefined}
        onClose={() => setTested(undefined)}
      >
        {tested && <WebhookTestButton id={tested.id} runsAtOnce />}
      </Dialog>
      <Dialog
        title={edited === "new" ? t("webhooks.create") : t("webhooks.edit")}
        isOpen={edited !== undefined}
        onClose={() => setEdited(undefined)}
      >
        {edited !== undefined && (
          <WebhookForm
            webhook={edited === "new" ? undefined : edited}
            onSaved={async () => {
              setEdited(undefined);
              await reload();
            }}
          />
        )}
      </Dialog>
    </Page>
  );
}
