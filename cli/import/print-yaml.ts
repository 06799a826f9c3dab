/** A plan as vexel.yaml, for operators who keep the configuration in files. API keys are not in it. */
import { stringify } from "yaml";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import { type ImportPlan, mapSecrets, type Secret } from "./plan.ts";

interface PrintedPlan {
  readonly text: string;
  /** Variables that stand for secrets which the imported gateway has in its own storage. */
  readonly newVariables: readonly string[];
}

export function printYaml(plan: ImportPlan): PrintedPlan {
  const newVariables: string[] = [];
  const nameFor = (id: string) => (secret: Secret) => {
    if (secret.variable !== undefined) return `\${${secret.variable}}`;
    const name = `${id.replaceAll(/\W/g, "_").toUpperCase()}_SECRET_${newVariables.length + 1}`;
    newVariables.push(name);
    return `\${${name}}`;
  };
  const entries = (identity: string, list: ReadonlyMap<string, JsonObject>) =>
    [...list].map(([id, value]) => ({
      [identity]: id,
      ...(mapSecrets(value, nameFor(id)) as JsonObject),
    }));
  const lists = Object.entries({
    upstreams: entries("id", plan.upstreams),
    models: entries("id", plan.models),
    projects: entries("name", plan.projects),
  }).filter(([, list]) => list.length > 0);
  return {
    text: stringify(Object.fromEntries(lists), { aliasDuplicateObjects: false }),
    newVariables,
  };
}

export const variablesNote = (names: readonly string[]): string =>
  names.length === 0
    ? ""
    : `Set these variables to the secrets of the other gateway: ${names.join(", ")}.\n`;
