/**
 * The models that an imported key may use. LiteLLM checks several lists: those of the key, of its team or user, and of
 * its project. An entry of a list is the name of a model, a pattern, or a group of models (access group).
 */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { ModelKind } from "../list-price.ts";
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

/** The entries of a list of LiteLLM. Undefined: the list cannot be read. */
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
}

/** Undefined: the key may use no imported model, which was reported. */
export function modelsOf(
  { own, others, kinds }: KeyLists,
  named: NamedModels,
  report: SubjectReport,
): readonly string[] | undefined {
  const lists = [own, ...others].filter((list) => !list.includes("*"));
  const hasAllKinds = kinds.length === 2;
  if (lists.length === 0 && hasAllKinds) {
    report.carried("models", "all models");
    return everyModel;
  }
  const permitted = [...named.models.keys()].filter((name) =>
    lists.every((list) => list.some((entry) => permits(entry, name, named))),
  );
  const allowed = permitted.filter((name) =>
    kinds.includes(named.models.get(name)?.kind as ModelKind),
  );
  const [only = [], second] = lists;
  // Of one list, the patterns stay: they match models that are added later.
  const patterns =
    second === undefined && hasAllKinds ? only.filter((entry) => entry.includes("*")) : [];
  const unserved = [...new Set(lists.flat())].filter(
    (entry) =>
      !entry.includes("*") && ![...named.models.keys()].some((name) => permits(entry, name, named)),
  );
  const models = [...allowed, ...patterns];
  if (models.length === 0) {
    report.dropped("", `not imported: ${reasonFor(unserved, lists.flat())}`);
    return undefined;
  }
  if (unserved.length > 0) report.dropped("models", `not served: ${unserved.join(", ")}`);
  report.carried("models", models.join(", "));
  return models;
}

const reasonFor = (unserved: readonly string[], all: readonly string[]): string =>
  all.length > 0 && unserved.length === new Set(all).size
    ? `Vexel serves none of its models (${unserved.join(", ")})`
    : "the key may use no model";

/** LiteLLM also permits an alias of a permitted model, and a model whose provider a pattern such as `openai/*` names. */
function permits(entry: string, name: string, { groups, aliases }: NamedModels): boolean {
  const names = [name, ...(aliases.has(name) ? [aliases.get(name) ?? ""] : [])];
  if (names.some((each) => matches(entry, each) || groups.get(each)?.has(entry))) return true;
  return (
    !name.includes("/") &&
    entry.endsWith("/*") &&
    splitModel(name, undefined)?.provider === entry.slice(0, -2)
  );
}

/** `*` in a pattern stands for any text. */
export const matches = (pattern: string, name: string): boolean =>
  new RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`).test(name);

const kindPaths: Readonly<Record<ModelKind, readonly string[]>> = {
  embedding: ["/embeddings", "/v1/embeddings"],
  image: ["/images/generations", "/v1/images/generations", "/images/edits", "/v1/images/edits"],
};

/** The kinds of models whose endpoints the key may call (`allowed_routes`). Undefined: the list cannot be read. */
export function kindsOf(value: unknown): readonly ModelKind[] | undefined {
  const routes = namesOf(value);
  if (routes === undefined) return undefined;
  const isOpen =
    routes.length === 0 || routes.includes("llm_api_routes") || routes.includes("openai_routes");
  return (["embedding", "image"] as const).filter(
    (kind) =>
      isOpen ||
      kindPaths[kind].some((path) =>
        routes.some((route) => matches(route, path) || path.startsWith(`${route}/`)),
      ),
  );
}
