/**
 * The models that an imported key may use. LiteLLM checks several lists: those of the key, of its team or user, and of
 * its project. An entry of a list is the name of a model, a pattern, or a group of models (access group).
 */

import type { ModelKind } from "../../../contract/model-kinds.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { SubjectReport } from "../report.ts";
import { namesOf } from "./column-values.ts";
import { splitModel } from "./providers.ts";

export const everyModel: readonly string[] = ["*"];

/** What the lists are compared with. */
export interface NamedModels {
  readonly models: ReadonlyMap<string, JsonObject>;
  /** The access groups of each model. */
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>;
  /** Second names, and the names that they stand for. */
  readonly aliases: ReadonlyMap<string, string>;
}

/** The entries of a list of LiteLLM. Undefined if the list cannot be read. */
export function allowedBy(
  value: unknown,
  more: readonly string[] = [],
): readonly string[] | undefined {
  const names = namesOf(value);
  if (names === undefined || names.includes("no-default-models")) return names && more;
  return names.length === 0 || names.includes("all-proxy-models")
    ? everyModel
    : [...names, ...more];
}

export interface KeyLists {
  readonly own: readonly string[];
  /** Of its team, its user and its project. */
  readonly others: readonly (readonly string[])[];
  readonly kinds: readonly ModelKind[];
  /** The key may generate images, and not edit them. */
  readonly hasNoEdits: boolean;
  /** Names that stand for another model in requests of the key, and these models. */
  readonly aliased: ReadonlyMap<string, string>;
}

/** Undefined if the key may use no imported model, which was reported. */
export function modelsOf(
  { own, others, kinds, aliased }: KeyLists,
  named: NamedModels,
  report: SubjectReport,
): readonly string[] | undefined {
  const lists = [own, ...others].filter((list) => !list.includes("*"));
  const permitted = [...named.models.keys()].filter((name) =>
    lists.every((list) => list.some((entry) => permits(entry, name, named))),
  );
  const models = permitted.filter(
    (name) => !aliased.has(name) && kinds.includes(named.models.get(name)?.kind as ModelKind),
  );
  // LiteLLM permits a name that stands for a permitted model, too.
  for (const [name, target] of aliased)
    report.leftOut(name, `LiteLLM sends its requests for this name to ${JSON.stringify(target)}`);
  const unserved = [...new Set(lists.flat())].filter(
    (entry) =>
      !entry.includes("*") && ![...named.models.keys()].some((name) => permits(entry, name, named)),
  );
  if (models.length === 0) {
    report.refused(
      named.models.size === 0
        ? "no model is imported. Models of LiteLLM's file need --config"
        : reasonFor(unserved, lists.flat()),
    );
    return undefined;
  }
  if (unserved.length > 0) report.dropped("models", `not served: ${unserved.join(", ")}`);
  // Names and no patterns: a pattern would also match models that the imported gateway does not have.
  report.carried("models", models.join(", "));
  return models;
}

const reasonFor = (unserved: readonly string[], all: readonly string[]): string =>
  all.length > 0 && unserved.length === new Set(all).size
    ? `Vexel serves none of its models (${unserved.join(", ")})`
    : "the key may use no model";

/**
 * LiteLLM also permits an alias of a permitted model, and a model whose provider a pattern such as `openai/*` names.
 */
function permits(entry: string, name: string, { groups, aliases }: NamedModels): boolean {
  const names = [name, ...(aliases.has(name) ? [aliases.get(name) ?? ""] : [])];
  return names.some(
    (each) => matches(entry, each) || groups.get(each)?.has(entry) || isOfProvider(entry, each),
  );
}

/** The names of `dall-e` are none that LiteLLM's pattern permits. */
const isOfProvider = (entry: string, name: string): boolean =>
  entry.endsWith("/*") &&
  !name.includes("/") &&
  !name.startsWith("dall-e") &&
  splitModel(name, undefined)?.provider === entry.slice(0, -2);

/** `*` in a pattern stands for any text. */
export const matches = (pattern: string, name: string): boolean =>
  new RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`).test(name);

const pathsOf = (...names: readonly string[]) => names.flatMap((name) => [name, `/v1${name}`]);
const generations = pathsOf("/images/generations");
const edits = pathsOf("/images/edits");

interface KeyRoutes {
  readonly kinds: readonly ModelKind[];
  /** The key may generate images, and not edit them. */
  readonly hasNoEdits: boolean;
}

/** The kinds of models whose endpoints the key may call (`allowed_routes`). Undefined if the list cannot be read. */
export function routesOf(value: unknown): KeyRoutes | undefined {
  const routes = namesOf(value);
  if (routes === undefined) return undefined;
  const isOpen =
    routes.length === 0 || routes.includes("llm_api_routes") || routes.includes("openai_routes");
  const permitsAny = (paths: readonly string[]): boolean =>
    isOpen ||
    paths.some((path) =>
      routes.some((route) => matches(route, path) || path.startsWith(`${route}/`)),
    );
  const hasImages = permitsAny(generations) || permitsAny(edits);
  return {
    kinds: [
      ...(permitsAny(pathsOf("/embeddings")) ? (["embedding"] as const) : []),
      ...(hasImages ? (["image"] as const) : []),
    ],
    hasNoEdits: hasImages && !(permitsAny(generations) && permitsAny(edits)),
  };
}
