/** The configuration as vexel.yaml: the file and the stored entities, without keys, with variables instead of secrets. */
import { existsSync, readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import {
  type EntityKind,
  entityKinds,
  isEntityKind,
} from "../../server/config/entities/entity-kinds.ts";
import { hideSecrets } from "../../server/config/entities/secret-fields.ts";
import type { JsonObject, StoredEntity } from "../../server/storage/sql/config-entity-store.ts";
import { UsageError } from "../command.ts";

interface ExportedConfig {
  readonly text: string;
  /** Variables that stand for secrets, which the gateway does not show. */
  readonly variables: readonly string[];
}

/** `stored`: with encrypted secrets, or in plain text. `path`: of vexel.yaml, which may not exist. */
export function configYaml(path: string, stored: readonly StoredEntity[]): ExportedConfig {
  const variables = new Set<string>();
  const { keys: _keys, ...file } = readFile(path);
  const config: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(file)) {
    const kind = kindOfList(name);
    config[name] =
      kind && Array.isArray(value)
        ? value.map((entry: JsonObject, at) =>
            withVariables(kind, String(entry.id ?? entry.name ?? at), entry, variables, isVariable),
          )
        : value;
  }
  for (const { kind, id, value } of stored) {
    if (!isEntityKind(kind)) continue;
    const { list, identity } = entityKinds[kind];
    const entry = withVariables(kind, id, escaped(value) as JsonObject, variables, () => false);
    const own = config[list];
    const named = identity === undefined ? entry : { [identity]: id, ...entry };
    config[list] = [...(Array.isArray(own) ? own : []), named];
  }
  return {
    text: stringify(config, { aliasDuplicateObjects: false }),
    variables: [...variables].toSorted(),
  };
}

function readFile(path: string): JsonObject {
  if (!existsSync(path)) return {};
  const value: unknown = parse(readFileSync(path, "utf8"));
  if (value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as JsonObject;
  throw new UsageError(`${path} is no configuration.`);
}

const kindOfList = (name: string): EntityKind | undefined =>
  (Object.keys(entityKinds) as EntityKind[]).find((kind) => entityKinds[kind].list === name);

/** A text of the file that is a variable already. */
const isVariable = (value: unknown): boolean =>
  typeof value === "string" && /^\$\{\w+\}$/.test(value);

/** The entity with a variable instead of each secret. `isKept`: the value stays. */
function withVariables(
  kind: EntityKind,
  id: string,
  value: JsonObject,
  variables: Set<string>,
  isKept: (value: unknown) => boolean,
): JsonObject {
  const hidden = hideSecrets({ kind, id, value });
  const replace = (own: unknown, before: unknown, path: readonly string[]): unknown => {
    if (isHidden(own)) {
      if (isKept(before)) return before;
      const name = variableOf([kind, id, ...path]);
      variables.add(name);
      return `\${${name}}`;
    }
    if (Array.isArray(own)) return own;
    if (typeof own !== "object" || own === null) return own;
    return Object.fromEntries(
      Object.entries(own).map(([name, member]) => [
        name,
        replace(member, (before as JsonObject)[name], [...path, name]),
      ]),
    );
  };
  return replace(hidden, value, []) as JsonObject;
}

const isHidden = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "$secret" in value;

/** Two entities with similar ids have different variables, because the id is unique among names of its kind. */
const variableOf = (path: readonly string[]): string =>
  path.join("_").replaceAll(/\W+/g, "_").toUpperCase();

/** A stored text is no template: `${` is itself. */
function escaped(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("${", "$${");
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, escaped(own)]));
}
