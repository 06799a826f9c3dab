/** Whether an alert fires, and until when its rule is silenced. */
import type { AlertEntity } from "../../../../contract/admin.ts";
import { shortTime } from "../../lib/time.ts";
import { Badge } from "../../ui/badge.tsx";
import { useAlertText } from "./alert-text.ts";

export function AlertState({ alert: { state, silence } }: { alert: AlertEntity }) {
  const { t, language } = useAlertText();
  return (
    <div className="flex flex-col items-start gap-1">
      <Badge tone={state === "firing" ? "bad" : "good"}>{t(`alerts.state.${state}`)}</Badge>
      {silence && (
        <>
          <Badge tone="warn">
            {t("alerts.silenced.until", { time: shortTime(silence.until, language) })}
          </Badge>
          <span className="max-w-56 text-xs break-words text-muted">
            {silence.by}: {silence.reason}
          </span>
        </>
      )}
    </div>
  );
}
