/** Reads keys from LiteLLM's admin API, to find those that have changed since the database or the export was read. */

import { namesOf } from "../litellm/column-values.ts";
import { matches } from "../litellm/key-models.ts";
import { objectOf } from "../litellm/source.ts";
import type { PlannedKey } from "../plan.ts";
import { type OtherGateway, request } from "./ask-access.ts";

interface LiveKey {
  readonly isRead: boolean;
  /** Why the planned key would be wider. */
  readonly wider: readonly string[];
}

/** Entries of the list of a key that stand for other names. */
const isGroup = (entry: string): boolean =>
  ["all-team-models", "all-proxy-models", "no-default-models"].includes(entry);

export async function readLiveKey(
  gateway: OtherGateway,
  masterKey: string,
  key: PlannedKey,
): Promise<LiveKey> {
  const response = await request(gateway, `/key/info?key=${key.hash}`, masterKey);
  const text = await response.text();
  if (response.status === 404) return { isRead: true, wider: ["it does not exist there"] };
  if (!response.ok) return { isRead: false, wider: [] };
  const info = objectOf(objectOf(JSON.parse(text)).info);
  const expires = Date.parse(String(info.expires ?? ""));
  const names = namesOf(info.models);
  // A name that is no model may be an access group, whose models only the database has.
  const isPlain =
    names !== undefined &&
    names.length > 0 &&
    names.every((name) => !isGroup(name) && (name.includes("*") || key.models.includes(name)));
  const more = isPlain
    ? key.models.filter((model) => !names.some((name) => matches(name, model)))
    : [];
  return {
    isRead: true,
    wider: [
      ...(info.blocked === true ? ["it is blocked there"] : []),
      ...(expires <= Date.now() ? ["it expired there"] : []),
      ...(more.length > 0 ? [`${more.join(", ")} are not among its models there`] : []),
    ],
  };
}
