/** Sends a test event to a webhook, and shows whether it was delivered. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { WebhookTest } from "../../../../contract/admin.ts";
import { call, errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";

interface WebhookTestProps {
  readonly id: string;
  /** The user has asked for the first test already, in a menu. */
  readonly runsAtOnce?: boolean;
}

export function WebhookTestButton({ id, runsAtOnce = false }: WebhookTestProps) {
  const t = useT();
  const queryClient = useQueryClient();
  const test = useMutation({
    mutationFn: () => call<WebhookTest>(`/webhooks/${id}/test`, { method: "POST", body: {} }),
    onSettled: async () => {
      await queryClient.invalidateQueries({ queryKey: ["/events"] });
      await queryClient.invalidateQueries({ queryKey: ["/webhooks"] });
    },
  });
  const hasRun = useRef(!runsAtOnce);
  const { data, error, isPending, mutate } = test;
  useEffect(() => {
    if (!hasRun.current) mutate();
    hasRun.current = true;
  }, [mutate]);
  return (
    <div className="flex flex-col items-start gap-1">
      <Button size="small" onClick={() => mutate()} disabled={isPending}>
        {t("events.sendTest")}
      </Button>
      <span aria-live="polite">
        {error && <span className="text-xs break-words text-bad">{errorText(error)}</span>}
        {data && (
          <Badge tone={data.delivered ? "good" : "bad"}>
            {data.delivered ? t("webhooks.delivered") : (data.problem ?? String(data.status))}
          </Badge>
        )}
      </span>
    </div>
  );
}
