/** Which webhooks get the event of an alert: none while its rule is silenced. */
import type { EventData } from "../../../contract/events.ts";
import type { Webhook } from "../../config/snapshot.ts";
import type { StoredEvent } from "../../storage/sql/event-store.ts";

/** `webhook` subscribes to the type. */
export function isAlertFor(_webhook: Webhook, { type, data }: StoredEvent): boolean {
  if (type !== "alert.firing" && type !== "alert.resolved") return true;
  const { silenced_until: silencedUntil } = data as unknown as EventData["alert.firing"];
  return silencedUntil === undefined;
}
