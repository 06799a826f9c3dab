/** Replaces the budgets of a project, and keeps its limits: the part of it that the role `billing` changes. */
import type { EndUserOrTagLimitsValue, ProjectValue } from "../../contract/admin.ts";
import type { BudgetsBody } from "../../contract/schemas/keys.ts";
import type { JsonObject } from "../storage/sql/config-entity-store.ts";

type Budgeted = Pick<EndUserOrTagLimitsValue, "budget">;

/** The members of the project that the form of the budgets does not have are not changed. */
export function withBudgets(value: JsonObject, { budget, perEndUser, perTag }: BudgetsBody) {
  const { budget: _, perEndUser: endUser, perTag: tags = {}, ...others } = value as ProjectValue;
  const names = new Set([...Object.keys(tags), ...Object.keys(perTag ?? {})]);
  const ofEndUser = merged(endUser, perEndUser as Budgeted | undefined);
  const ofTags = [...names].flatMap((name) => {
    const own = Object.hasOwn(tags, name) ? tags[name] : undefined;
    const given = perTag && Object.hasOwn(perTag, name) ? perTag[name] : undefined;
    const after = merged(own, given as Budgeted | undefined);
    return after ? [[name, after] as const] : [];
  });
  return {
    ...others,
    ...(budget && { budget }),
    ...(ofEndUser && { perEndUser: ofEndUser }),
    ...(ofTags.length > 0 && { perTag: Object.fromEntries(ofTags) }),
  };
}

/** Undefined if there is neither a limit nor a budget. */
function merged(
  before: EndUserOrTagLimitsValue | undefined,
  after: Budgeted | undefined,
): EndUserOrTagLimitsValue | undefined {
  const limits = before?.limits;
  const budget = after?.budget;
  if (!limits && !budget) return undefined;
  return { ...(limits && { limits }), ...(budget && { budget }) };
}
