/**
 * Limits and budgets of the end user and of the tags of a request, as its project configures them. Each end user and each
 * tag is a limit scope and the owner of a budget, like an API key.
 */
import {
  type BudgetedOwner,
  type LabelLimits,
  labelOwnerId,
} from "../../contract/limits-and-budgets.ts";
import { endUserScopes, labelScope, tagScopes } from "../config/build/limits-and-budgets.ts";
import type { Project } from "../config/snapshot.ts";
import { matchesGlob } from "../lib/glob.ts";
import type { Caller } from "../request/caller.ts";
import type { RequestRecord } from "../request/request-record.ts";

/** An end user or a tag with limits or a budget. */
interface LimitedLabel {
  readonly scope: "end_user" | "tag";
  readonly name: string;
  /** The limit scope. */
  readonly id: string;
  readonly own: LabelLimits;
}

/** The caller of this request, whose limits and budgets include those of its end user and its tags. */
export function withLabelLimits(
  caller: Caller,
  { endUser, tags }: Pick<RequestRecord, "endUser" | "tags">,
  project: Project,
): Caller {
  const labels = [
    ...(endUser === null ? [] : endUserOf(project, endUser)),
    ...(tags === null ? [] : tags.split(",").flatMap((tag) => tagOf(project, tag))),
  ];
  const scopes = labels.filter(({ own }) => own.limits).map(({ id }) => id);
  const budgets = labels.flatMap(({ scope, name, own: { budget } }): BudgetedOwner[] =>
    budget
      ? [{ scope, id: labelOwnerId(project.name, name), name, ofProject: project.name, budget }]
      : [],
  );
  return {
    ...caller,
    ...(scopes.length > 0 && { scopes: [...(caller.scopes ?? []), ...scopes] }),
    ...(budgets.length > 0 && { budgets: [...(caller.budgets ?? []), ...budgets] }),
  };
}

const endUserOf = ({ name, perEndUser }: Project, endUser: string): LimitedLabel[] =>
  perEndUser
    ? [
        {
          scope: "end_user",
          name: endUser,
          id: labelScope(endUserScopes(name), endUser),
          own: perEndUser,
        },
      ]
    : [];

/** The entry of the tag itself counts, or else the first pattern that matches. */
function tagOf({ name, perTag = none }: Project, tag: string): LimitedLabel[] {
  const pattern = perTag.has(tag) ? tag : perTag.keys().find((glob) => matchesGlob(glob, tag));
  const own = pattern === undefined ? undefined : perTag.get(pattern);
  if (pattern === undefined || !own) return [];
  return [{ scope: "tag", name: tag, id: labelScope(tagScopes(name, pattern), tag), own }];
}

const none: ReadonlyMap<string, LabelLimits> = new Map();
