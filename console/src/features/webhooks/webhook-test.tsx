/** Sends a test event to a webhook, and shows whether it was delivered. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { WebhookTest } from "../../../../contract/admin.ts";
import { call, errorText } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";

export function WebhookTestButton({ id }: { id: string }) {
  const t = useT();
  const queryClient = useQueryClient();
  const test = useMutation({
    mutationFn: () => call<WebhookTest>(`/webhooks/${id}/test`, { method: "POST", body: {} }),
    onSettled: async () => {
      await queryClient.invalidateQueries({ queryKey: ["/events"] });
      await queryClient.invalidateQueries({ queryKey: ["/webhooks"] });
    },
  });
  const { data, error, isPending } = test;
  return (
    <div className="flex flex-col items-start gap-1">
      <Button size="small" onClick={() => test.mutate()} disabled={isPending}>
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
