/** Which webhooks get the event of an alert: none while its rule is silenced, or those that the rule names. */
import type { EventData } from "../../../contract/events.ts";
import type { Webhook } from "../../config/snapshot.ts";
import type { StoredEvent } from "../../storage/sql/event-store.ts";

/** Undefined: its subscription decides. */
export function isAlertReceiver(
  { name }: Webhook,
  { type, data }: StoredEvent,
  webhooks: ReadonlyMap<string, Webhook>,
): boolean | undefined {
  if (type !== "alert.firing" && type !== "alert.resolved") return undefined;
  const { silenced_until, receivers } = data as unknown as EventData["alert.firing"];
  if (silenced_until !== undefined) return false;
  // An alert whose receivers are all gone still has to be heard.
  const isHeard = webhooks.values().some((each) => each.name && receivers?.includes(each.name));
  return receivers && isHeard ? name !== undefined && receivers.includes(name) : undefined;
}
