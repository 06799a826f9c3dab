/** The limits and budgets that a project configures for one end user, or for one tag. */
import type { EndUserOrTagLimits } from "../../../contract/limits-and-budgets.ts";
import { matchesGlob } from "../../lib/glob.ts";
import type { Project } from "../snapshot.ts";
import { endUserOrTagScope, endUserScopes, tagScopes } from "./limits-and-budgets.ts";

/** An end user or a tag with limits or a budget. */
export interface LimitedEndUserOrTag extends EndUserOrTagLimits {
  readonly scope: "end_user" | "tag";
  readonly name: string;
  /** The limit scope. */
  readonly scopeId: string;
}

/** Undefined if the project does not limit end users. */
export function limitedEndUser(
  { name, perEndUser }: Project,
  endUser: string,
): LimitedEndUserOrTag | undefined {
  if (!perEndUser) return undefined;
  const scopeId = endUserOrTagScope(endUserScopes(name), endUser);
  return { ...perEndUser, scope: "end_user", name: endUser, scopeId };
}

/** The entry of the tag itself counts, or else the first pattern that matches. */
export function limitedTag(
  { name, perTag = none }: Project,
  tag: string,
): LimitedEndUserOrTag | undefined {
  const pattern = perTag.has(tag) ? tag : perTag.keys().find((glob) => matchesGlob(glob, tag));
  const own = pattern === undefined ? undefined : perTag.get(pattern);
  if (pattern === undefined || !own) return undefined;
  return {
    ...own,
    scope: "tag",
    name: tag,
    scopeId: endUserOrTagScope(tagScopes(name, pattern), tag),
  };
}

const none: ReadonlyMap<string, EndUserOrTagLimits> = new Map();
