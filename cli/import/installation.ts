/** Which imported keys belong to an installation of another gateway. */
import { createHash } from "node:crypto";
import type { KeyStore } from "../../server/storage/sql/key-store.ts";
import type { ImportedFrom, StoredKey } from "../../server/storage/sql/stored-key.ts";
import type { ImportPlan } from "./plan.ts";

export type ImportedKey = StoredKey & { readonly imported: ImportedFrom };

const pageSize = 1000;

/** All keys of an earlier import from this kind of gateway, revoked ones included. */
export async function importedKeys(
  keys: Pick<KeyStore, "list">,
  source: string,
): Promise<readonly ImportedKey[]> {
  const found: ImportedKey[] = [];
  for (let page = await keys.list({ limit: pageSize }); ; ) {
    for (const key of page.entries) if (isFrom(key, source)) found.push(key);
    if (page.next === undefined) return found;
    page = await keys.list({ cursor: page.next, limit: pageSize });
  }
}

const isFrom = (key: StoredKey, source: string): key is ImportedKey =>
  key.imported?.source === source;

/** The installations whose keys the plan's source has. Two installations have no key in common. */
export const installationsIn = (
  plan: Pick<ImportPlan, "sourceHashes">,
  imported: readonly ImportedKey[],
): readonly string[] => [
  ...new Set(
    imported
      .filter(({ hash }) => plan.sourceHashes.has(hash))
      .map((key) => key.imported.installation),
  ),
];

/** The name of an installation whose keys are imported for the first time. */
export const newInstallation = ({ sourceHashes }: Pick<ImportPlan, "sourceHashes">): string =>
  createHash("sha256")
    .update([...sourceHashes].toSorted().join("\n"))
    .digest("hex")
    .slice(0, 16);
