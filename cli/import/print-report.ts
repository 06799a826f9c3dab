/** The report of an import as text: one page, or every line. */
import { onOneLine } from "../write.ts";
import { type Loss, losses } from "./losses.ts";
import { quantity } from "./quantity.ts";
import type { Outcome, ReportLine } from "./report.ts";

/** Counts of what an import creates. */
export interface Totals {
  readonly upstreams: number;
  readonly models: number;
  readonly projects: number;
  readonly keys: number;
}

const mostGroups = 12;
const mostNames = 3;

/** One page for any number of keys: totals, refusals, losses by kind, and the other fields by kind. */
export function printPage(lines: readonly ReportLine[], totals: Totals): string {
  const of = (...outcomes: readonly Outcome[]) =>
    lines.filter(({ outcome }) => outcomes.includes(outcome));
  const refused = of("refused");
  const sections = [
    printTotals(refused, totals),
    section("Not imported:", printGroups(refused)),
    section("Protections that Vexel does not have:", printLosses(of("lost"))),
    section(
      "Left out of keys, because they would give the vectors of another model:",
      printGroups(of("left out")),
    ),
    section("Imported in another form, and not looser:", printGroups(of("approximated"))),
    section("Without a counterpart in Vexel:", printGroups(of("dropped"))),
    `--details prints all ${lines.length} lines, and --json has them.`,
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

const section = (title: string, rows: readonly string[]): string =>
  rows.length === 0 ? "" : [title, ...rows].join("\n");

function printTotals(refused: readonly ReportLine[], totals: Totals): string {
  const refusedOf = (noun: Noun): number => subjectsOf(refused, noun).size;
  const part = (count: number, noun: Noun): string => {
    const all = count + refusedOf(noun);
    return all === count ? quantity(count, noun) : `${count} of ${quantity(all, noun)}`;
  };
  return `To import: ${[
    part(totals.keys, "key"),
    quantity(totals.models, "model"),
    quantity(totals.upstreams, "upstream"),
    quantity(totals.projects, "project"),
  ].join(", ")}.`;
}

type Noun = "key" | "model" | "upstream" | "project";

/** `token "web"` of new-api is a key. */
const nounOf = (subject: string): string => {
  const [noun = ""] = subject.split(" ");
  return noun === "token" ? "key" : noun;
};

/** Other subjects, such as a section of settings, are one of their kind. */
const isNamed = (subject: string): boolean => /^\S+ "/.test(subject);

const subjectsOf = (lines: readonly ReportLine[], noun: string): ReadonlySet<string> =>
  new Set(lines.map(({ subject }) => subject).filter((subject) => nounOf(subject) === noun));

/** Lines that differ only in names and numbers are one group. */
function printGroups(lines: readonly ReportLine[]): readonly string[] {
  const groups = [...Map.groupBy(lines, kindOf)].toSorted(([, a], [, b]) => b.length - a.length);
  const rows = groups.slice(0, mostGroups).map(([, group]) => printGroup(group));
  const others = groups.slice(mostGroups);
  const hidden = others.reduce((sum, [, group]) => sum + group.length, 0);
  return others.length === 0
    ? rows
    : [...rows, `  and ${quantity(others.length, "other kind")} with ${quantity(hidden, "line")}`];
}

const kindOf = (line: ReportLine): string =>
  [nounOf(line.subject), textOf(line).replaceAll(varying, "…")].join("\n");

/** Names, lists and numbers. */
const varying = /"(?:[^"\\]|\\.)*"|\S*\d\S*|\([^()]*\/[^()]*\)/g;

/** The section says that a subject is not imported. */
function textOf({ field, note, outcome }: ReportLine): string {
  const text = note.replace(/^not imported: /, "");
  // Names of models and members of metadata are many.
  if (field === "" || outcome === "left out") return text;
  return `${field.replace(/^metadata\..*/, "metadata")}: ${text}`;
}

function printGroup(group: readonly ReportLine[]): string {
  const [first] = group as [ReportLine, ...ReportLine[]];
  const subjects = [...new Set(group.map(({ subject }) => subject))];
  const texts = new Set(group.map(textOf));
  const text = texts.size === 1 ? textOf(first) : textOf(first).replaceAll(varying, "…");
  const hasNames = isNamed(first.subject);
  const counted = hasNames ? quantity(subjects.length, nounOf(first.subject)) : first.subject;
  const names = hasNames ? namesOf(subjects) : "";
  return onOneLine(`  ${counted.padEnd(10)}  ${clipped(text)}${names}`);
}

/** Such as `: web, shop and 9 more`. */
function namesOf(subjects: readonly string[]): string {
  const names = subjects.map((subject) => /"(?:[^"\\]|\\.)*"/.exec(subject)?.[0] ?? subject);
  const shown = [...new Set(names)].slice(0, mostNames).map((name) => clipped(name, 40));
  const more = new Set(names).size - shown.length;
  return ` [${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}]`;
}

const clipped = (text: string, most = 150): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

function printLosses(lines: readonly ReportLine[]): readonly string[] {
  const groups = [...Map.groupBy(lines, ({ loss }) => loss as Loss)];
  const width = Math.max(0, ...groups.map(([loss]) => loss.length));
  return groups.toSorted().map(([loss, group]) => {
    const [first] = group;
    const subjects = [...new Set(group.map(({ subject }) => subject))];
    const nouns = Map.groupBy(subjects, (subject) =>
      isNamed(subject) ? nounOf(subject) : subject,
    );
    const counted = [...nouns]
      .map(([noun, own]) => (isNamed(own[0] ?? "") ? quantity(own.length, noun) : noun))
      .join(", ");
    const state = first?.isAccepted ? "accepted" : "refused ";
    const fields = [...new Set(group.map(({ field }) => field))].slice(0, mostNames).join(", ");
    return `  --accept ${loss.padEnd(width)}  ${state}  ${counted}: ${losses[loss]} (${onOneLine(clipped(fields, 80))})`;
  });
}

/** Every line under the name of its subject, and the numbers of the outcomes. */
export function printDetails(lines: readonly ReportLine[]): string {
  const parts = [...Map.groupBy(lines, ({ subject }) => subject)].map(([subject, own]) =>
    [onOneLine(subject), ...own.map(printLine)].join("\n"),
  );
  const counts = Map.groupBy(lines, ({ outcome }) => outcome);
  const sums = [...counts].map(([outcome, own]) => `${own.length} ${outcome}`).join(", ");
  return [...parts, `${sums}.`].join("\n\n");
}

const printLine = ({ field, outcome, note, loss }: ReportLine): string =>
  `  ${outcome.padEnd(12)} ${onOneLine(`${field === "" ? "" : `${field}: `}${note}${loss ? ` (--accept ${loss})` : ""}`)}`;
