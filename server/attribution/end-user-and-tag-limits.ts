/**
 * Limits and budgets of the end user and of the tags of a request, as its project configures them. Each end user and
 * each tag is a limit scope and the owner of a budget, like an API key.
 */
import { type BudgetedOwner, endUserOrTagId } from "../../contract/limits-and-budgets.ts";
import {
  type LimitedEndUserOrTag,
  limitedEndUser,
  limitedTag,
} from "../config/build/end-user-and-tag-limits.ts";
import type { Project } from "../config/snapshot.ts";
import type { Caller } from "../request/caller.ts";
import type { RequestRecord } from "../request/request-record.ts";

/** The caller of this request, whose limits and budgets include those of its end user and its tags. */
export function withEndUserAndTagLimits(
  caller: Caller,
  { endUser, tags }: Pick<RequestRecord, "endUser" | "tags">,
  project: Project,
): Caller {
  const limited = [
    endUser === null ? undefined : limitedEndUser(project, endUser),
    ...(tags === null ? [] : tags.split(",").map((tag) => limitedTag(project, tag))),
  ].filter((each): each is LimitedEndUserOrTag => each !== undefined);
  const scopes = limited.filter(({ limits }) => limits).map(({ scopeId }) => scopeId);
  const budgets = limited.flatMap((each) => budgetOf(each, project) ?? []);
  return {
    ...caller,
    ...(scopes.length > 0 && { scopes: [...(caller.scopes ?? []), ...scopes] }),
    ...(budgets.length > 0 && { budgets: [...(caller.budgets ?? []), ...budgets] }),
  };
}

/** `owner`: such as `end_user=ann`, as in ledger rows. Undefined if it has no budget. */
export function endUserOrTagBudgetOf(project: Project, owner: string): BudgetedOwner | undefined {
  const at = owner.indexOf("=");
  const name = owner.slice(at + 1);
  const isEndUser = owner.slice(0, at) === "end_user";
  const limited = isEndUser ? limitedEndUser(project, name) : limitedTag(project, name);
  return limited && budgetOf(limited, project);
}

const budgetOf = (
  { scope, name, budget }: LimitedEndUserOrTag,
  { name: ofProject }: Project,
): BudgetedOwner | undefined =>
  budget && { scope, id: endUserOrTagId(ofProject, name), name, ofProject, budget };
