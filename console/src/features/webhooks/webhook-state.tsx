/** Whether a webhook receives its events. */
import type { ShownWebhook } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Badge } from "../../ui/badge.tsx";

type State = Pick<ShownWebhook, "state" | "consecutive_failures">;

const stateOf = ({ state, consecutive_failures: failures }: State) =>
  state === "active" && failures > 0 ? "failing" : state;

export function WebhookState({ webhook }: { webhook: State }) {
  const t = useT();
  const state = stateOf(webhook);
  return (
    <>
      <Badge tone={state === "active" ? "good" : "bad"}>{t(`events.webhook.${state}`)}</Badge>
      {webhook.consecutive_failures > 0 && (
        <p className="text-xs text-muted">
          {t("events.failures", { count: webhook.consecutive_failures })}
        </p>
      )}
    </>
  );
}
