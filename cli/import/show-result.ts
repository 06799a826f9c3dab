/** What an import has created, as text and as JSON. */
import { ownCommand } from "../../server/process/own-command.ts";
import { table } from "../command.ts";
import type { AppliedEntity } from "./apply.ts";
import { losses } from "./losses.ts";
import type { ImportPlan } from "./plan.ts";
import type { Totals } from "./print-report.ts";
import { quantity } from "./quantity.ts";
import type { ReportLine } from "./report.ts";

export const totalsOf = ({ upstreams, models, projects, keys }: ImportPlan): Totals => ({
  upstreams: upstreams.size,
  models: models.size,
  projects: projects.size,
  keys: keys.length,
});

/** The whole report. */
export function reportJson(
  plan: ImportPlan,
  lines: readonly ReportLine[],
  { applied }: { readonly applied?: readonly AppliedEntity[] | undefined },
): string {
  const found = Map.groupBy(
    lines.filter(({ loss }) => loss !== undefined),
    ({ loss }) => loss,
  );
  const lost = [...found].map(([name, own]) => ({
    name,
    protection: name && losses[name],
    accepted: own[0]?.isAccepted ?? false,
    subjects: [...new Set(own.map(({ subject }) => subject))],
  }));
  return `${JSON.stringify({ counts: totalsOf(plan), losses: lost, lines, applied }, null, 2)}\n`;
}

export function printApplied(applied: readonly AppliedEntity[], details: boolean): string {
  const counts = [...Map.groupBy(applied, ({ result }) => result)].map(([result, own]) => {
    const kinds = [...Map.groupBy(own, ({ kind }) => kind)];
    return `${kinds.map(([kind, each]) => quantity(each.length, kind)).join(", ")} ${words[result]}`;
  });
  const refused = applied.filter(({ result }) => result === "refused");
  const shown = details ? applied : refused;
  const rows = shown.map(({ kind, id, result, reason }) => [kind, id, result, reason]);
  const text = rows.length === 0 ? "" : `${table([["KIND", "ID", "RESULT", "REASON"], ...rows])}\n`;
  const note =
    refused.length === 0
      ? ""
      : `${refused.length} of ${applied.length} were refused. Correct the cause and run the command again.\n`;
  return `${text}${counts.join("; ")}.\n${note}"${ownCommand("models")}" lists the models.\n`;
}

const words = {
  created: "created",
  exists: "exist already, and were left as they are",
  refused: "refused",
} as const;
