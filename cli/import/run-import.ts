/** Reports what an import would create, or creates it. */
import { StoreError } from "../../server/storage/sqlite/open-database.ts";
import { writeOutput } from "../write.ts";
import { type AppliedEntity, applyPlan } from "./apply.ts";
import { importedKeys, installationsIn, newInstallation } from "./installation.ts";
import type { ImportPlan, Secret } from "./plan.ts";
import { planSync, type SyncPlan } from "./plan-sync.ts";
import { printDetails, printPage } from "./print-report.ts";
import { quantity } from "./quantity.ts";
import { Report } from "./report.ts";
import { printApplied, reportJson, totalsOf } from "./show-result.ts";
import type { Planner } from "./sources.ts";
import { hasStores, type ImportStores, withStores } from "./stores.ts";

export interface RunOptions {
  /** Names of --accept. */
  readonly accepted: ReadonlySet<string>;
  readonly apply: boolean;
  readonly json: boolean;
  readonly details: boolean;
  /** Unix milliseconds. */
  readonly now: number;
}

export async function runImport(planner: Planner, options: RunOptions): Promise<number> {
  const report = new Report(options.accepted);
  const plan = planner(report);
  const { applied, sync } = await result(plan, options);
  const { lines } = report;
  if (options.json) writeOutput(reportJson(plan, lines, { applied }));
  else {
    const shown = options.details ? printDetails(lines) : printPage(lines, totalsOf(plan));
    const outcome = applied ? printApplied(applied, options.details) : dryRunNote(plan);
    writeOutput(`${shown}\n\n${outcome}${sync ? syncNote(sync) : ""}`);
  }
  return applied?.some(({ result }) => result === "refused") ? 1 : 0;
}

interface Result {
  readonly applied?: readonly AppliedEntity[];
  /** What a sync would change. If absent, there is no data yet. */
  readonly sync?: SyncPlan;
}

async function result(plan: ImportPlan, { accepted, apply, now }: RunOptions): Promise<Result> {
  if (apply)
    return withStores(true, async (stores) => {
      // Before the new keys are there.
      const { installation, sync } = await installationOf(plan, stores, now);
      const resolve = ({ text, variable }: Secret) =>
        text ?? (process.env[variable ?? ""] || undefined);
      const applied = await applyPlan(plan, {
        ...stores,
        resolve,
        installation,
        accepted: [...accepted],
      });
      return { applied, ...(sync && { sync }) };
    });
  if (!hasStores()) return {};
  try {
    return await withStores(false, async (stores) => {
      const { sync } = await installationOf(plan, stores, now);
      return sync ? { sync } : {};
    });
  } catch (error) {
    // A dry run writes nothing: it may also run beside a data folder of another version.
    if (error instanceof StoreError) return {};
    throw error;
  }
}

async function installationOf(plan: ImportPlan, { keys }: ImportStores, now: number) {
  const imported = await importedKeys(keys, plan.source);
  const [installation] = installationsIn(plan, imported);
  if (installation === undefined) return { installation: newInstallation(plan) };
  const own = imported.filter((key) => key.imported.installation === installation);
  return { installation, sync: planSync(plan, own, { addsModels: false, now }) };
}

const dryRunNote = ({ upstreams, models, projects, keys }: ImportPlan): string =>
  `Nothing was written. --apply creates ${quantity(upstreams.size, "upstream")}, ${quantity(models.size, "model")}, ${quantity(projects.size, "project")} and ${quantity(keys.length, "API key")}, unless they exist.\n`;

function syncNote({ keys, newModels, followed }: SyncPlan): string {
  const ended = keys.filter(({ action }) => action === "end" || action === "revoke").length;
  const parts = [
    ...(ended > 0 ? [`${ended} are blocked, refused or deleted there and still work here`] : []),
    ...(keys.length > ended ? [`${keys.length - ended} have less there than here`] : []),
    ...(newModels.length > 0 ? [`${quantity(newModels.length, "model")} there are new`] : []),
  ];
  return parts.length === 0
    ? ""
    : `Of ${quantity(followed, "key")} of an earlier import, ${parts.join(", ")}: --sync shows the changes, and makes them with --apply.\n`;
}
