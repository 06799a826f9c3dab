/** `limits` and `budget` in vexel.yaml: the scopes that requests count against, and the budgets they are charged to. */
import type { z } from "zod";
import {
  type Budget,
  type BudgetedOwner,
  type EndUserOrTagLimits,
  firstKeyId,
  type Limits,
} from "../../../contract/limits-and-budgets.ts";
import type {
  budget,
  endUserOrTagLimits,
  limits,
  tagLimits,
} from "../../../contract/schemas/limits.ts";
import type { Target } from "../../upstream/contract.ts";
import type { Key, Model, Project, Snapshot } from "../snapshot.ts";

type ConfiguredLimits = z.output<typeof limits> | undefined;
interface WithLimits {
  readonly limits?: Limits;
}
interface WithScopes extends WithLimits {
  readonly scopes?: readonly string[];
}

/** Leaves out limits that are not set. Without any limit, the member `limits` is absent. */
export function configuredLimits(given: ConfiguredLimits): WithLimits {
  const entries = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? {} : { limits: Object.fromEntries(entries) };
}

/** Scope ids are stable across reloads, so usage counts are kept. */
export const keyScope = (id: string): string => `key:${firstKeyId(id)}`;
export const projectScope = (name: string): string => `project:${name}`;
export const modelScope = (id: string): string => `model:${id}`;
const upstreamScope = (id: string): string => `upstream:${id}`;
/** Includes the model id: two models may use the same target with different limits. */
const targetScope = (modelId: string, { upstream, model, surface }: Target): string =>
  `target:${JSON.stringify([modelId, upstream.id, model, ...(surface ? [surface] : [])])}`;

/** The limits of each end user of a project, of which `endUserOrTagScope` makes the scopes. */
export const endUserScopes = (project: string): string => `end_user:${project}`;
export const tagScopes = (project: string, pattern: string): string => `tag:${project}\t${pattern}`;
/** The scope of one end user or tag. No other scope contains a tab. */
export const endUserOrTagScope = (scopes: string, name: string): string => `${scopes}\t${name}`;

const withScopes = (scopes: readonly string[]): WithScopes =>
  scopes.length === 0 ? {} : { scopes };

/** If the project of a key does not exist, only the key's own limits apply. */
export const keyLimits = (
  { id, limits: own, project }: Key,
  projects: Snapshot["projects"],
): WithScopes =>
  withScopes([
    ...(own ? [keyScope(id)] : []),
    ...(project !== undefined && projects?.get(project)?.limits ? [projectScope(project)] : []),
  ]);

export function modelLimits(id: string, given: ConfiguredLimits): WithScopes {
  const own = configuredLimits(given);
  return own.limits ? { ...own, scopes: [modelScope(id)] } : {};
}

/** The same target, with its limits and its upstream's. */
export function targetLimits(modelId: string, given: ConfiguredLimits, target: Target): Target {
  const own = configuredLimits(given);
  const scopes = [
    ...(target.upstream.limits ? [upstreamScope(target.upstream.id)] : []),
    ...(own.limits ? [targetScope(modelId, target)] : []),
  ];
  return { ...target, ...own, ...withScopes(scopes) };
}

/** The limits of everything but stored keys, by scope. */
export function limitsOfEntities({
  fileKeys,
  projects,
  models,
  upstreams,
}: Required<Pick<Snapshot, "fileKeys" | "projects" | "models" | "upstreams">>): ReadonlyMap<
  string,
  Limits
> {
  const table = new Map<string, Limits>();
  const add = (id: string, own: Limits | undefined): void => {
    if (own) table.set(id, own);
  };
  for (const key of fileKeys.values()) add(keyScope(key.id), key.limits);
  for (const project of projects.values()) addProject(project, add);
  for (const upstream of upstreams.values()) add(upstreamScope(upstream.id), upstream.limits);
  for (const model of models.values()) addModel(model, add);
  return table;
}

function addProject(project: Project, add: (id: string, own: Limits | undefined) => void): void {
  const { name, perEndUser, perTag } = project;
  add(projectScope(name), project.limits);
  add(endUserScopes(name), perEndUser?.limits);
  for (const [pattern, { limits: own }] of perTag ?? []) add(tagScopes(name, pattern), own);
}

function addModel(model: Model, add: (id: string, own: Limits | undefined) => void): void {
  add(modelScope(model.id), model.limits);
  for (const target of model.targets)
    if (target.limits) add(targetScope(model.id, target), target.limits);
}

type ConfiguredBudget = Omit<z.output<typeof budget>, "total"> | undefined;

/** Leaves out the limits that the file does not set. */
export function budgetOf(given: ConfiguredBudget): { readonly budget?: Budget } {
  if (!given) return {};
  const { unknownPrice, ...limits } = given;
  const entries = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  return { budget: { ...Object.fromEntries(entries), unknownPrice } };
}

/** Leaves out what is not set. */
export const endUserAndTagLimitsOf = ({
  perEndUser,
  perTag,
}: {
  readonly perEndUser?: z.output<typeof endUserOrTagLimits> | undefined;
  readonly perTag?: z.output<typeof tagLimits> | undefined;
}): Pick<Project, "perEndUser" | "perTag"> => ({
  ...(perEndUser && { perEndUser: limitsAndBudgetOf(perEndUser) }),
  ...(perTag && {
    perTag: new Map(Object.entries(perTag).map(([tag, given]) => [tag, limitsAndBudgetOf(given)])),
  }),
});

const limitsAndBudgetOf = (given: z.output<typeof endUserOrTagLimits>): EndUserOrTagLimits => ({
  ...configuredLimits(given.limits),
  ...budgetOf(given.budget),
});

/** The budgets of the key and of its project. Absent if there is none, so that most requests skip the check. */
export function keyBudgets(
  { id, name, budget: own, project: projectName }: Key,
  projects: Snapshot["projects"],
): { readonly budgets?: readonly BudgetedOwner[] } {
  const project = projectName === undefined ? undefined : projects?.get(projectName);
  const budgets: readonly BudgetedOwner[] = [
    ...(own ? [{ scope: "key", id, name, budget: own } as const] : []),
    ...(project?.budget
      ? [
          {
            scope: "project",
            id: project.name,
            name: project.name,
            budget: project.budget,
          } as const,
        ]
      : []),
  ];
  return budgets.length === 0 ? {} : { budgets };
}
