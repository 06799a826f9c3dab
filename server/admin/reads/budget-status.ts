/** Budgets and limits of keys, projects, models, end users and tags, with their use. */
import type { ShownBudget, ShownLimit } from "../../../contract/admin.ts";
import {
  type Budget,
  endUserOrTagId,
  type Limits,
  rateLimits,
} from "../../../contract/limits-and-budgets.ts";
import type { Budgets } from "../../budgets/budgets.ts";
import type { BudgetStatus } from "../../budgets/over-budget.ts";
import { limitedEndUser, limitedTag } from "../../config/build/end-user-and-tag-limits.ts";
import { keyScope, modelScope, projectScope } from "../../config/build/limits-and-budgets.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import { roundDollars } from "../../lib/nano-dollars.ts";
import type { LimitScope } from "../../limits/limiter.ts";
import { type Actor, maySeeProject } from "../actor.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";

export interface Owner {
  readonly scope: "key" | "project" | "model" | "end_user" | "tag";
  readonly id: string;
  readonly name: string;
  readonly project: string | null;
}

export interface BudgetOwnerEntry extends Owner {
  readonly scope: "key" | "project" | "end_user" | "tag";
  readonly budget: Budget;
}

/** An end user or a tag, of a list that has no others. */
export interface EndUserOrTagQuery {
  readonly project?: string | undefined;
  /** As in the ledger. */
  readonly endUser?: string | undefined;
  readonly tag?: string | undefined;
}

/** The limits and the budget of the end user or the tag. Undefined if it has none that the actor may see. */
export function endUserOrTagOwner(
  { projects }: Snapshot,
  actor: Actor,
  { project: name = "", endUser, tag = "" }: EndUserOrTagQuery,
) {
  const project = maySeeProject(actor, name) ? projects?.get(name) : undefined;
  if (!project) return undefined;
  const limited =
    endUser === undefined ? limitedTag(project, tag) : limitedEndUser(project, endUser);
  return limited && { ...limited, id: limited.name, project: name };
}

/** The budget of an end user or a tag. */
export async function showEndUserOrTagBudgets(
  owner: NonNullable<ReturnType<typeof endUserOrTagOwner>>,
  budgets: Budgets,
  at: number,
): Promise<ShownBudget[]> {
  const { scope, name, project, budget } = owner;
  if (!budget) return [];
  const budgeted = { scope, name, id: endUserOrTagId(project, name), budget };
  await budgets.load([budgeted], at);
  await budgets.read([budgeted], at);
  return budgets
    .status(budgeted, at)
    .map((status) => showBudget({ scope, id: name, name, project, budget }, status));
}

/** Projects first, then keys. Only projects and keys that the actor may see are listed. */
export function* budgetOwners(snapshot: Snapshot, actor: Actor): Generator<BudgetOwnerEntry> {
  for (const { name, budget, archived } of snapshot.projects?.values() ?? []) {
    if (budget && !archived && maySeeProject(actor, name)) yield { ...projectOwner(name), budget };
  }
  for (const { id, name, budget, project = null, archived } of snapshot.keys.values()) {
    if (budget && !archived && maySeeProject(actor, project))
      yield { scope: "key", id, name, project, budget };
  }
}

export const projectOwner = (name: string) =>
  ({ scope: "project", id: name, name, project: name }) as const;

/** The budgets of all these owners. */
export async function showBudgets(
  owners: readonly BudgetOwnerEntry[],
  budgets: Budgets,
  at: number,
): Promise<ShownBudget[]> {
  await budgets.read(owners, at);
  return owners.flatMap((owner) =>
    budgets.status(owner, at).map((status) => showBudget(owner, status)),
  );
}

const showBudget = (
  { scope, id, name, project }: BudgetOwnerEntry,
  { period, limit, spent, reserved, resetsAt }: BudgetStatus,
): ShownBudget => ({
  object: "budget",
  scope,
  id,
  name,
  project,
  period,
  limit,
  spent: roundDollars(spent),
  reserved: roundDollars(reserved),
  left: roundDollars(Math.max(0, limit - spent - reserved)),
  resets_at: resetsAt === undefined ? null : new Date(resetsAt).toISOString(),
});

interface LimitOwnerEntry extends Owner {
  readonly limits: Limits;
  readonly scopeId: string;
}

/** Models belong to no project: everybody who may use the console sees their limits. */
export function* limitOwners(snapshot: Snapshot, actor: Actor): Generator<LimitOwnerEntry> {
  for (const { name, limits, archived } of snapshot.projects?.values() ?? []) {
    if (!limits || archived || !maySeeProject(actor, name)) continue;
    const scopeId = projectScope(name);
    yield { scope: "project", id: name, name, project: name, limits, scopeId };
  }
  for (const { id, limits } of snapshot.models.values()) {
    if (!limits) continue;
    yield { scope: "model", id, name: id, project: null, limits, scopeId: modelScope(id) };
  }
  for (const { id, name, limits, project = null, archived } of snapshot.keys.values()) {
    if (!limits || archived || !maySeeProject(actor, project)) continue;
    yield { scope: "key", id, name, project, limits, scopeId: keyScope(id) };
  }
}

/** `clock`: milliseconds, monotonic. `now`: Unix milliseconds. */
export async function showLimits(
  owner: LimitOwnerEntry,
  { admission, clock, now }: Pick<AdminDependencies, "admission" | "clock" | "now">,
): Promise<ShownLimit[]> {
  const { limits } = owner;
  const used = await admission.shownScope(owner.scopeId);
  const [clockMs, at] = [clock(), now()];
  const shown = rateLimits.flatMap((definition): ShownLimit[] => {
    const limit = limits[`${definition.name}PerMinute`];
    return limit === undefined ? [] : [showRate(owner, { definition, limit, used, clockMs, at })];
  });
  if (limits.concurrent === undefined) return shown;
  const inFlight = used?.slots.totalInFlight ?? 0;
  const slots: ShownLimit = {
    ...members(owner),
    rate: "concurrent",
    limit: limits.concurrent,
    used: inFlight,
    left: Math.max(0, limits.concurrent - inFlight),
    resets_at: null,
    queued: used?.slots.waiting ?? 0,
  };
  return [...shown, slots];
}

interface RateUse {
  readonly definition: (typeof rateLimits)[number];
  readonly limit: number;
  readonly used: LimitScope | undefined;
  readonly clockMs: number;
  readonly at: number;
}

function showRate(
  owner: LimitOwnerEntry,
  { definition: { rate, name, unit }, limit, used, clockMs, at }: RateUse,
): ShownLimit {
  const bucket = used?.bucket(rate);
  const left = bucket ? bucket.remaining(clockMs) / unit : limit;
  const fullInMs = bucket?.msUntilFull(clockMs) ?? 0;
  return {
    ...members(owner),
    rate: name,
    limit,
    used: Math.max(0, limit - left),
    left,
    resets_at: fullInMs > 0 ? new Date(at + fullInMs).toISOString() : null,
    queued: 0,
  };
}

const members = ({ scope, id, name, project }: Owner) => ({
  object: "limit" as const,
  scope,
  id,
  name,
  project,
});
