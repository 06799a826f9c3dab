/** Writes a plan to the stores of the gateway. What exists already is left as it is: an import can be repeated. */
import {
  type ConfigEntities,
  EntityRefused,
} from "../../server/config/entities/config-entities.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import type { KeyStore } from "../../server/storage/sql/key-store.ts";
import { type ImportPlan, mapSecrets, type Secret } from "./plan.ts";

interface AppliedEntity {
  readonly kind: "upstream" | "model" | "project" | "key";
  readonly id: string;
  readonly result: "created" | "exists" | "refused";
  /** Why it was refused, or where it exists. */
  readonly reason: string;
}

interface Stores {
  readonly entities: ConfigEntities;
  readonly keys: KeyStore;
  /** Undefined: the variable is not set. */
  readonly resolve: (secret: Secret) => string | undefined;
}

export async function applyPlan(plan: ImportPlan, stores: Stores): Promise<AppliedEntity[]> {
  const existing = new Map(
    (await stores.entities.list()).map(({ kind, id, origin }) => [`${kind} ${id}`, origin]),
  );
  const applied: AppliedEntity[] = [];
  const lists = [
    ["upstream", plan.upstreams],
    ["project", plan.projects],
    ["model", plan.models],
  ] as const;
  for (const [kind, list] of lists)
    for (const [id, value] of list)
      applied.push(
        existing.has(`${kind} ${id}`)
          ? { kind, id, result: "exists", reason: "" }
          : await putEntity(kind, id, value, stores),
      );
  const refused = new Set(
    applied.filter(({ result }) => result === "refused").map(({ kind, id }) => `${kind} ${id}`),
  );
  for (const key of plan.keys) {
    // Without its project, the key would have none of the project's limits.
    if (refused.has(`project ${key.project}`)) {
      const reason = `its project ${JSON.stringify(key.project)} was refused`;
      applied.push({ kind: "key", id: key.name, result: "refused", reason });
      continue;
    }
    const exists = (await stores.keys.findById(key.id)) !== undefined;
    if (!exists) await stores.keys.create(key);
    applied.push({ kind: "key", id: key.name, result: exists ? "exists" : "created", reason: "" });
  }
  return applied;
}

async function putEntity(
  kind: "upstream" | "model" | "project",
  id: string,
  value: JsonObject,
  { entities, resolve }: Stores,
): Promise<AppliedEntity> {
  try {
    const resolved = mapSecrets(value, (secret) => {
      const text = resolve(secret);
      if (text !== undefined) return text;
      throw new EntityRefused(`the variable ${secret.variable} is not set in this environment`);
    });
    await entities.put(kind, id, resolved as JsonObject, 0);
    return { kind, id, result: "created", reason: "" };
  } catch (error) {
    if (!(error instanceof EntityRefused)) throw error;
    return { kind, id, result: "refused", reason: error.message };
  }
}
