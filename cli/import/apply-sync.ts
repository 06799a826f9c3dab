/** Applies a sync to the stores of the gateway, or refuses it. */
import type { ConfigEntities } from "../../server/config/entities/config-entities.ts";
import type { KeyStore } from "../../server/storage/sql/key-store.ts";
import { UsageError } from "../command.ts";
import { type ImportedKey, importedKeys, installationsIn } from "./installation.ts";
import type { ImportPlan } from "./plan.ts";
import { loweredProject, type SyncPlan } from "./plan-sync.ts";
import { quantity } from "./quantity.ts";

/** The imported keys of the plan's installation. Throws UsageError for another installation. */
export async function keysOfInstallation(
  keys: Pick<KeyStore, "list">,
  plan: ImportPlan,
): Promise<readonly ImportedKey[]> {
  const imported = await importedKeys(keys, plan.source);
  if (imported.length === 0)
    throw new UsageError(`no key was imported from ${plan.source}: --sync follows an import.`);
  const installations = installationsIn(plan, imported);
  const [installation, another] = installations;
  if (installation === undefined)
    throw new UsageError(
      `this is another installation of ${plan.source}: it has none of the ${quantity(imported.length, "imported key")}.`,
    );
  if (another !== undefined)
    throw new UsageError(
      `this installation of ${plan.source} has keys of ${installations.length} imported installations: --sync cannot tell which one it is.`,
    );
  return imported.filter((key) => key.imported.installation === installation);
}

const mostRevoked = 10;
const mostRevokedShare = 0.05;

/** Why a sync needs --revoke. Undefined if it may run. `stated`: the number of --revoke. */
export function refusalOfSync(
  { keys, followed }: SyncPlan,
  stated: number | undefined,
): string | undefined {
  const ended = keys.filter(({ action }) => action === "revoke" || action === "end").length;
  if (stated !== undefined)
    return stated === ended
      ? undefined
      : `it would revoke or end ${quantity(ended, "key")}, and not ${stated}: look at them, and use --revoke ${ended}`;
  return ended > mostRevoked || ended > followed * mostRevokedShare
    ? `it would revoke or end ${ended} of ${quantity(followed, "key")}: look at them, and use --revoke ${ended}`
    : undefined;
}

interface Stores {
  readonly entities: ConfigEntities;
  readonly keys: KeyStore;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Projects first: after an interruption, the next sync finds the keys as they were. */
export async function applySync(
  { keys: changes, projects }: SyncPlan,
  { entities, keys, now }: Stores,
): Promise<void> {
  for (const change of projects) {
    const stored = await entities.get("project", change.project);
    // A project of vexel.yaml is changed there.
    if (stored)
      await entities.put(
        "project",
        change.project,
        loweredProject(stored.value, change),
        stored.version,
      );
  }
  for (const { key, action, after } of changes) {
    if (action === "revoke") await keys.revoke(key.id, now);
    else if (after) await keys.update(key.id, after, key.version);
    else await keys.expire(key.id, now);
  }
}
