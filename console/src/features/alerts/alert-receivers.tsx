/** The webhooks that get the events of alerts: those that subscribe to them, and those that a rule names. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { AlertEntity, WebhookEntity } from "../../../../contract/admin.ts";
import { listQuery } from "../../api/lists.ts";
import { matchesGlob } from "../../lib/glob.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";
import { WebhookForm } from "../webhooks/webhook-form.tsx";
import { WebhookState } from "../webhooks/webhook-state.tsx";
import { WebhookTestButton } from "../webhooks/webhook-test.tsx";
import { useAlertText } from "./alert-text.ts";

export const webhooksQuery = listQuery<WebhookEntity>("/webhooks");

interface AlertReceiversProps {
  readonly alerts: readonly AlertEntity[];
}

export function AlertReceivers({ alerts }: AlertReceiversProps) {
  const { t } = useAlertText();
  const query = useQuery(webhooksQuery);
  const queryClient = useQueryClient();
  const [isAdding, setAdding] = useState(false);
  const isReceiver = ({ events, name }: WebhookEntity): boolean =>
    events.some((glob) => matchesGlob(glob, "alert.firing")) ||
    alerts.some(({ value }) => name !== null && value.receivers?.includes(name));
  return (
    <Card
      title={t("alerts.receivers")}
      actions={
        <span className="flex items-center gap-3">
          <Link to="/webhooks" className="text-sm text-accent hover:underline">
            {t("alerts.receivers.manage")}
          </Link>
          <Button size="small" onClick={() => setAdding(true)}>
            {t("alerts.receivers.add")}
          </Button>
        </span>
      }
    >
      <QueryView query={query}>
        {({ data }) => <Receivers webhooks={data.filter(isReceiver)} />}
      </QueryView>
      <Dialog title={t("alerts.receivers.add")} isOpen={isAdding} onClose={() => setAdding(false)}>
        {isAdding && (
          <WebhookForm
            webhook={undefined}
            events={["alert.*"]}
            format="slack"
            onSaved={async () => {
              setAdding(false);
              await queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
            }}
          />
        )}
      </Dialog>
    </Card>
  );
}

function Receivers({ webhooks }: { webhooks: readonly WebhookEntity[] }) {
  const { t, general } = useAlertText();
  if (webhooks.length === 0) {
    return <Empty title={t("alerts.receivers.none")}>{t("alerts.receivers.noneHint")}</Empty>;
  }
  return (
    <ul>
      {webhooks.map(({ id, name, url, format, ...webhook }) => (
        <li
          key={id}
          className="flex flex-wrap items-center justify-between gap-3 border-t border-line px-4 py-2.5 first:border-t-0"
        >
          <span className="flex min-w-0 flex-wrap items-center gap-2">
            <Badge>{general(`webhooks.format.${format}`)}</Badge>
            {name !== null && <span className="font-medium">{name}</span>}
            <code className="min-w-0 font-mono text-xs break-all text-muted">{url}</code>
          </span>
          <WebhookState webhook={webhook} />
          <WebhookTestButton id={id} />
        </li>
      ))}
    </ul>
  );
}
