/** Writes a plan to the stores of the gateway. What exists already is left as it is: an import can be repeated. */
import {
  type ConfigEntities,
  EntityRefused,
} from "../../server/config/entities/config-entities.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import type { KeyStore } from "../../server/storage/sql/key-store.ts";
import type { NewKey } from "../../server/storage/sql/stored-key.ts";
import { type ImportPlan, mapSecrets, type PlannedKey, type Secret } from "./plan.ts";

export interface AppliedEntity {
  readonly kind: "upstream" | "model" | "project" | "key";
  readonly id: string;
  readonly result: "created" | "exists" | "refused";
  /** Why it was refused, or where it exists. */
  readonly reason: string;
}

interface Stores {
  readonly entities: ConfigEntities;
  readonly keys: KeyStore;
  /** Undefined if the variable is not set. */
  readonly resolve: (secret: Secret) => string | undefined;
  /** Of the other gateway. */
  readonly installation: string;
  /** Protections whose loss the user accepts. */
  readonly accepted: readonly string[];
}

/** The key with where it is from, so that a sync can follow it. */
function storedKey({ imported, ...key }: PlannedKey, { installation, accepted }: Stores): NewKey {
  if (!imported) return key;
  return {
    ...key,
    imported: { ...imported, installation, ...(accepted.length > 0 && { accepted }) },
  };
}

export async function applyPlan(plan: ImportPlan, stores: Stores): Promise<AppliedEntity[]> {
  const applied = await putMissing(
    [
      ["upstream", plan.upstreams],
      ["project", plan.projects],
      ["model", plan.models],
    ],
    stores,
  );
  const projects = new Set(
    (await stores.entities.list()).flatMap(({ kind, id }) => (kind === "project" ? [id] : [])),
  );
  for (const key of plan.keys) {
    // Without its project, the key would have none of the project's limits.
    if (key.project !== undefined && !projects.has(key.project)) {
      const reason = `its project ${JSON.stringify(key.project)} does not exist`;
      applied.push({ kind: "key", id: key.name, result: "refused", reason });
      continue;
    }
    const exists = (await stores.keys.findById(key.id)) !== undefined;
    if (!exists) await stores.keys.create(storedKey(key, stores));
    applied.push({ kind: "key", id: key.name, result: exists ? "exists" : "created", reason: "" });
  }
  return applied;
}

type EntityKind = "upstream" | "model" | "project";

/** Stores the entities that do not exist. */
export async function putMissing(
  lists: readonly (readonly [EntityKind, ReadonlyMap<string, JsonObject>])[],
  stores: Pick<Stores, "entities" | "resolve">,
): Promise<AppliedEntity[]> {
  const existing = new Set((await stores.entities.list()).map(({ kind, id }) => `${kind} ${id}`));
  const applied: AppliedEntity[] = [];
  for (const [kind, list] of lists)
    for (const [id, value] of list)
      applied.push(
        existing.has(`${kind} ${id}`)
          ? { kind, id, result: "exists", reason: "" }
          : await putEntity(kind, id, value, stores),
      );
  return applied;
}

async function putEntity(
  kind: EntityKind,
  id: string,
  value: JsonObject,
  { entities, resolve }: Pick<Stores, "entities" | "resolve">,
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
