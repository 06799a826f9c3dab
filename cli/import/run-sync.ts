/** Shows what has changed in the other gateway since the import, or follows it. */
import { UsageError } from "../command.ts";
import { onOneLine, writeError, writeOutput } from "../write.ts";
import { putMissing } from "./apply.ts";
import { applySync, keysOfInstallation, refusalOfSync } from "./apply-sync.ts";
import type { ImportPlan, Secret } from "./plan.ts";
import { planSync, type SyncPlan } from "./plan-sync.ts";
import { quantity } from "./quantity.ts";
import { Report } from "./report.ts";
import type { RunOptions } from "./run-import.ts";
import type { Planner } from "./sources.ts";
import { hasStores, withStores } from "./stores.ts";

interface SyncOptions extends RunOptions {
  /** The number of keys that the user expects to be ended or revoked. */
  readonly revoke: number | undefined;
}

export async function runSync(planner: Planner, options: SyncOptions): Promise<number> {
  if (!hasStores()) throw new UsageError("there is no gateway here: --sync follows an import.");
  return withStores(false, async (stores) => {
    const addsModels = options.accepted.has("new-models");
    const own = await keysOfInstallation(stores.keys, planner(new Report()));
    // The user accepted these at the import.
    const before = own.flatMap(({ imported }) => imported.accepted ?? []);
    const plan = planner(new Report(new Set([...before, ...options.accepted])));
    const sync = planSync(plan, own, { addsModels, now: options.now });
    const stored = new Set((await stores.entities.list()).map(({ kind, id }) => `${kind} ${id}`));
    const newModels = [
      ...new Set([
        ...sync.newModels,
        ...[...plan.models.keys()].filter((id) => !stored.has(`model ${id}`)),
      ]),
    ].toSorted();
    const refusal = refusalOfSync(sync, options.revoke);
    show(sync, addsModels ? [] : newModels, { ...options, refusal });
    if (!options.apply) return 0;
    if (refusal !== undefined) {
      writeError(`vexel import: nothing was written: ${refusal}.\n`);
      return 1;
    }
    if (addsModels && !(await addModels(plan, stores.entities))) return 1;
    await applySync(sync, { ...stores, now: options.now });
    if (!options.json)
      writeOutput(
        `${quantity(sync.keys.length, "key")} and ${quantity(sync.projects.length, "project")} changed.\n`,
      );
    return 0;
  });
}

/** Returns whether all of them could be stored: no key gets a model that does not exist. */
async function addModels(
  plan: ImportPlan,
  entities: Parameters<typeof putMissing>[1]["entities"],
): Promise<boolean> {
  const resolve = ({ text, variable }: Secret) =>
    text ?? (process.env[variable ?? ""] || undefined);
  const applied = await putMissing(
    [
      ["upstream", plan.upstreams],
      ["model", plan.models],
    ],
    { entities, resolve },
  );
  const refused = applied.filter(({ result }) => result === "refused");
  for (const { kind, id, reason } of refused)
    writeError(onOneLine(`vexel import: the ${kind} "${id}" was refused: ${reason}`).concat("\n"));
  return refused.length === 0;
}

const mostShown = 30;

function show(
  { keys, projects, followed }: SyncPlan,
  newModels: readonly string[],
  { json, details, apply, refusal }: SyncOptions & { readonly refusal: string | undefined },
): void {
  const changes = [
    ...projects.map(({ project, reason }) => ({
      kind: "project",
      id: project,
      action: "lower",
      reason,
    })),
    ...keys.map(({ key, action, reason }) => ({ kind: "key", id: key.name, action, reason })),
  ];
  if (json) {
    const shown = { followed, changes, newModels, refusal: refusal ?? null };
    writeOutput(`${JSON.stringify(shown, null, 2)}\n`);
    return;
  }
  const order = ["revoke", "end", "add models", "lower"];
  const sorted = changes.toSorted((a, b) => order.indexOf(a.action) - order.indexOf(b.action));
  const shown = details ? sorted : sorted.slice(0, mostShown);
  const counts = [...Map.groupBy(sorted, ({ action }) => action)];
  const rows = shown.map(({ kind, id, action, reason }) =>
    onOneLine(`  ${action.padEnd(10)} ${kind} ${JSON.stringify(id)}: ${reason}`),
  );
  const more = sorted.length - shown.length;
  const lines = [
    `${quantity(followed, "imported key")}: ${counts.length === 0 ? "nothing is lower there" : counts.map(([action, own]) => `${own.length} to ${action}`).join(", ")}.`,
    ...rows,
    ...(more > 0 ? [`  and ${more} more: --details prints all.`] : []),
    ...(newModels.length > 0
      ? [
          `New there, and not added without --accept new-models: ${onOneLine(newModels.join(", "))}.`,
        ]
      : []),
    ...(apply || (changes.length === 0 && newModels.length === 0)
      ? []
      : [
          `Nothing was written.${refusal === undefined ? " --apply makes these changes." : ` With --apply ${refusal}.`}`,
        ]),
  ];
  writeOutput(`${lines.join("\n")}\n`);
}
