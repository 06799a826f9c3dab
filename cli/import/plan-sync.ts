/**
 * What a sync with another gateway changes: imported keys and their projects are lowered, ended or revoked as they were
 * there. Nothing becomes wider, except that the user accepts new models.
 */
import type { Limits } from "../../contract/limits-and-budgets.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import type {
  ImportedBudget,
  ImportedFrom,
  KeyUpdate,
} from "../../server/storage/sql/stored-key.ts";
import type { ImportedKey } from "./installation.ts";
import type { ImportPlan, PlannedKey } from "./plan.ts";

export interface KeyChange {
  readonly key: ImportedKey;
  /** `end`: it exists there and is refused now. `revoke`: it was deleted there. */
  readonly action: "lower" | "add models" | "end" | "revoke";
  readonly reason: string;
  /** The key after the change. If absent, it is ended or revoked. */
  readonly after?: KeyUpdate;
}

export interface ProjectChange {
  readonly project: string;
  readonly reason: string;
  readonly limits: readonly Lowered[];
  readonly budget: readonly Lowered[];
}

/** A limit or an amount of a budget that is lower there than at the import. */
interface Lowered {
  readonly name: string;
  /** Undefined if there was none. */
  readonly before: number | undefined;
  readonly now: number;
  /** What is left of it. */
  readonly left: number;
}

export interface SyncPlan {
  readonly keys: readonly KeyChange[];
  readonly projects: readonly ProjectChange[];
  /** Models of keys there that the imported keys do not have, and that are not added. */
  readonly newModels: readonly string[];
  /** Active keys that the sync is about. */
  readonly followed: number;
}

interface Options {
  readonly addsModels: boolean;
  /** Unix milliseconds. */
  readonly now: number;
}

/** `imported`: the keys of this installation. */
export function planSync(
  plan: Pick<ImportPlan, "keys" | "projects" | "sourceHashes">,
  imported: readonly ImportedKey[],
  { addsModels, now }: Options,
): SyncPlan {
  const active = imported.filter(
    ({ revokedAt, expiresAt }) =>
      revokedAt === null && (expiresAt === undefined || expiresAt > now),
  );
  const planned = new Map(plan.keys.map((key) => [key.hash, key]));
  const projects = projectChanges(active, planned, plan.projects);
  const newModels = new Set<string>();
  const keys = active.flatMap((key): KeyChange[] => {
    const there = planned.get(key.hash);
    if (!plan.sourceHashes.has(key.hash))
      return [{ key, action: "revoke", reason: "it was deleted there" }];
    if (!there?.imported)
      return [{ key, action: "end", reason: "it is refused there, or would lose a protection" }];
    const added = there.imported.models.filter((name) => !key.imported.models.includes(name));
    if (!addsModels) for (const name of added) newModels.add(name);
    const ofProject = projects.get(key.project ?? "");
    return changeOf(
      key,
      { ...there, imported: there.imported },
      addsModels ? added : [],
      ofProject,
    );
  });
  return {
    keys,
    projects: [...projects.values()],
    newModels: [...newModels].toSorted(),
    followed: active.length,
  };
}

type There = PlannedKey & Required<Pick<PlannedKey, "imported">>;

function changeOf(
  key: ImportedKey,
  there: There,
  added: readonly string[],
  ofProject: ProjectChange | undefined,
): KeyChange[] {
  const before = key.imported;
  const gone = before.models.filter((name) => !there.imported.models.includes(name));
  const limits = lowered(before.limits, there.imported.limits, there.limits);
  const budget = lowered(before.budget, there.imported.budget, there.budget);
  const end = earlier(before.expiresAt, there.imported.expiresAt);
  const reasons = [
    ...(gone.length > 0 ? [`without ${gone.join(", ")}`] : []),
    ...(added.length > 0 ? [`with ${added.join(", ")}`] : []),
    ...namesOf("limits", limits),
    ...namesOf("budget", budget),
    ...(end === undefined ? [] : [`expires ${new Date(end).toISOString()}`]),
    ...(ofProject ? [`project ${ofProject.reason}`] : []),
  ];
  if (reasons.length === 0) return [];
  const reason = reasons.join(", ");
  // A pattern that an administrator gave the key stays: only names of the import are taken away.
  const models = [...key.models.filter((name) => !gone.includes(name)), ...added];
  if (models.length === 0) return [{ key, action: "end", reason }];
  const { id: _id, hash, hint, createdAt, revokedAt, version, ...update } = key;
  const after: KeyUpdate = {
    ...update,
    models: [...new Set(models)],
    ...(limits.length > 0 && { limits: withLower(key.limits, limits) }),
    ...(budget.length > 0 && {
      budget: {
        ...withLowerBudget(key.budget, budget),
        unknownPrice: key.budget?.unknownPrice ?? "allow",
      },
    }),
    ...(end !== undefined && { expiresAt: Math.min(end, key.expiresAt ?? end) }),
    imported: {
      ...before,
      models: [...before.models.filter((name) => !gone.includes(name)), ...added],
      ...followed(before, { limits, budget }),
      ...(end !== undefined && { expiresAt: end }),
      ...(ofProject && { project: { ...before.project, ...followed(before.project, ofProject) } }),
    },
  };
  return [{ key, action: added.length > 0 ? "add models" : "lower", reason, after }];
}

const followed = (
  before: Pick<ImportedFrom, "limits" | "budget"> = {},
  { limits, budget }: Pick<ProjectChange, "limits" | "budget">,
): Pick<ImportedFrom, "limits" | "budget"> => ({
  ...(limits.length > 0 && { limits: withLower(before.limits, limits) }),
  ...(budget.length > 0 && { budget: withLower(before.budget, budget) }),
});

type Amounts = Limits | ImportedBudget | JsonObject;

/** The members that are lower than before, or that were absent. `left`: what the plan has of them. */
const lowered = (
  before: Amounts = {},
  there: Amounts = {},
  left: Amounts = {},
): readonly Lowered[] => {
  const numberIn = (amounts: Amounts, name: string): number | undefined => {
    const value = (amounts as JsonObject)[name];
    return typeof value === "number" ? value : undefined;
  };
  return Object.keys(there).flatMap((name) => {
    const was = numberIn(before, name);
    const now = numberIn(there, name);
    if (now === undefined || (was !== undefined && now >= was)) return [];
    return [{ name, before: was, now, left: numberIn(left, name) ?? now }];
  });
};

const namesOf = (what: string, changes: readonly Lowered[]): readonly string[] =>
  changes.map(({ name, before, now }) => `${what}.${name}: ${before ?? "none"} to ${now}`);

const withLower = (own: Amounts = {}, changes: readonly Lowered[]): Record<string, number> => {
  const amounts = { ...(own as Record<string, number>) };
  for (const { name, now } of changes) amounts[name] = Math.min(amounts[name] ?? now, now);
  return amounts;
};

/** What was spent before the import was subtracted from a budget in total: it is lowered by the difference. */
function withLowerBudget(own: Amounts = {}, changes: readonly Lowered[]): Record<string, number> {
  const amounts = { ...(own as Record<string, number>) };
  for (const { name, before, now, left } of changes) {
    const current = amounts[name];
    const next =
      name === "total" && before !== undefined && current !== undefined
        ? current - (before - now)
        : left;
    amounts[name] = Math.max(0, Number(Math.min(current ?? next, next).toFixed(6)));
  }
  return amounts;
}

const earlier = (before: number | undefined, there: number | undefined): number | undefined =>
  there !== undefined && (before === undefined || there < before) ? there : undefined;

/** Keys of one project have the same values of it. */
function projectChanges(
  active: readonly ImportedKey[],
  planned: ReadonlyMap<string, PlannedKey>,
  projects: ImportPlan["projects"],
): ReadonlyMap<string, ProjectChange> {
  const changes = new Map<string, ProjectChange>();
  for (const key of active) {
    const there = planned.get(key.hash);
    const project = there?.project;
    if (project === undefined || project !== key.project || changes.has(project)) continue;
    const given = there?.imported?.project;
    const left = projects.get(project)?.budget as JsonObject | undefined;
    const limits = lowered(key.imported.project?.limits, given?.limits);
    const budget = lowered(key.imported.project?.budget, given?.budget, left);
    const reason = [...namesOf("limits", limits), ...namesOf("budget", budget)].join(", ");
    if (reason !== "") changes.set(project, { project, reason, limits, budget });
  }
  return changes;
}

/** A stored project with the lower values. */
export const loweredProject = (
  value: JsonObject,
  { limits, budget }: ProjectChange,
): JsonObject => ({
  ...value,
  ...(limits.length > 0 && { limits: withLower(value.limits as JsonObject, limits) }),
  ...(budget.length > 0 && {
    budget: withLowerBudget(value.budget as JsonObject | undefined, budget),
  }),
});
