/** The groups of a token of new-api: they decide which models it may use. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { groupsOf } from "./plan-channels.ts";

type Options = ReadonlyMap<string, string>;

/** The defaults of new-api: the option is absent, or it cannot be read. */
const usableByDefault = { default: "", vip: "" };
const ratiosByDefault = { default: 1, vip: 1, svip: 1 };
const autoByDefault = ["default"];
const mostAutoGroups = 5;

/** Returns why new-api refuses the token instead, if it does. */
export function tokenGroups(
  { group, auto_groups }: JsonObject,
  user: JsonObject,
  options: Options,
): readonly string[] | string {
  const ofUser = String(user.group || "default");
  if (!group) return groupsOf(ofUser);
  const own = String(group);
  const usable = usableGroups(ofUser, options);
  const known = objectIn(options.get("GroupRatio"), ratiosByDefault);
  if (!usable.has(own)) return `its user may not use the group ${JSON.stringify(own)}`;
  if (own !== "auto")
    return Object.hasOwn(known, own) ? [own] : `the group ${JSON.stringify(own)} does not exist`;
  const isSelectable = (name: string): boolean =>
    name !== "" && name !== "auto" && usable.has(name) && Object.hasOwn(known, name);
  const ofToken = listIn(auto_groups);
  const groups =
    ofToken === undefined
      ? (listIn(options.get("AutoGroups")) ?? autoByDefault).filter(isSelectable)
      : ofToken
          .filter(isSelectable)
          .slice(0, Number(options.get("MaxTokenAutoGroups")) || mostAutoGroups);
  return groups.length > 0 ? groups : "its user may use none of the groups of auto";
}

/** The groups that users of a group may choose, with exceptions for this group. */
function usableGroups(ofUser: string, options: Options): ReadonlySet<string> {
  const groups = new Set(Object.keys(objectIn(options.get("UserUsableGroups"), usableByDefault)));
  const exceptions = objectIn(
    options.get("group_ratio_setting.group_special_usable_group") ??
      options.get("GroupSpecialUsableGroup"),
    {},
  );
  for (const name of Object.keys((exceptions[ofUser] ?? {}) as JsonObject)) {
    if (name.startsWith("-:")) groups.delete(name.slice(2));
    else groups.add(name.replace(/^\+:/, ""));
  }
  return groups.add(ofUser);
}

function objectIn(text: string | undefined, absent: JsonObject): JsonObject {
  if (text === undefined) return absent;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

/** Undefined if the text is empty. A text that is no list has no groups. */
function listIn(text: unknown): readonly string[] | undefined {
  if (text === null || text === undefined || text === "") return undefined;
  try {
    const list: unknown = JSON.parse(String(text));
    return Array.isArray(list) ? list.map(String) : [];
  } catch {
    return [];
  }
}
