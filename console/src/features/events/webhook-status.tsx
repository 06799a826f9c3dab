/** Webhooks with the state of their deliveries, and a test of each. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { WebhookEntity } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { useT } from "../../i18n/messages.ts";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { WebhookState } from "../webhooks/webhook-state.tsx";
import { WebhookTestButton } from "../webhooks/webhook-test.tsx";

export const webhooksQuery = listQuery<WebhookEntity>("/webhooks");

interface WebhookStatusProps {
  readonly maySendTest: boolean;
}

export function WebhookStatus({ maySendTest }: WebhookStatusProps) {
  const t = useT();
  const webhooks = useQuery({ ...webhooksQuery, refetchInterval: 5_000 });
  return (
    <Card title={t("events.webhooks")}>
      <QueryView query={webhooks}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t("events.webhooks.none")}>
              {maySendTest && (
                <Link to="/webhooks" className="text-accent underline-offset-2 hover:underline">
                  {t("webhooks.create")}
                </Link>
              )}
            </Empty>
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
                  header: t("webhooks.events"),
                  cell: ({ events: globs }) => globs.join(", "),
                },
                {
                  key: "state",
                  header: t("keys.state"),
                  cell: (webhook) => <WebhookState webhook={webhook} />,
                },
                {
                  key: "waiting",
                  header: t("events.waiting"),
                  align: "right",
                  cell: ({ waiting }) => waiting,
                },
                ...(maySendTest
                  ? [
                      {
                        key: "actions",
                        header: t("column.actions"),
                        cell: ({ id }: WebhookEntity) => <WebhookTestButton id={id} />,
                      },
                    ]
                  : []),
              ]}
            />
          )
        }
      </QueryView>
    </Card>
  );
}
