/** Reads keys from LiteLLM's admin API: as they are now, and not as the database or the export was when it was read. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { objectOf } from "../litellm/source.ts";
import { type OtherGateway, request } from "./ask-access.ts";

/** The row as it is now. `gone`: there is no such key. `unread`: the API did not answer. */
export type LiveRow = JsonObject | "gone" | "unread";

/** `before`: the row of the key in the table. Members of the API that are no columns of it are left out. */
export async function readLiveRow(
  gateway: OtherGateway,
  masterKey: string,
  before: JsonObject,
): Promise<LiveRow> {
  const response = await request(gateway, `/key/info?key=${before.token}`, masterKey);
  const text = await response.text();
  if (response.status === 404) return "gone";
  if (!response.ok) return "unread";
  const info = objectOf(objectOf(JSON.parse(text)).info);
  return Object.fromEntries(
    Object.entries(before).map(([name, value]) => [name, name in info ? info[name] : value]),
  );
}
