/** What became of each field of the imported gateway: carried, approximated or dropped, with the reason. */
import { onOneLine } from "../write.ts";

type Outcome = "carried" | "approximated" | "dropped";

interface ReportLine {
  /** Such as `key "web"`. */
  readonly subject: string;
  /** Empty: the whole subject. */
  readonly field: string;
  readonly outcome: Outcome;
  /** What the field became, or why it was dropped. */
  readonly note: string;
}

export class Report {
  readonly #lines: ReportLine[] = [];

  get lines(): readonly ReportLine[] {
    return this.#lines;
  }

  /** The report of one subject. */
  about(subject: string): SubjectReport {
    const add =
      (outcome: Outcome) =>
      (field: string, note: string): void => {
        this.#lines.push({ subject, field, outcome, note });
      };
    return {
      subject,
      carried: add("carried"),
      approximated: add("approximated"),
      dropped: add("dropped"),
    };
  }
}

export interface SubjectReport {
  readonly subject: string;
  carried(field: string, note: string): void;
  approximated(field: string, note: string): void;
  dropped(field: string, note: string): void;
}

/** The report as text: the lines of each subject under its name, and the numbers of the outcomes. */
export function printReport({ lines }: Report): string {
  const bySubject = Map.groupBy(lines, ({ subject }) => subject);
  const parts = [...bySubject].map(([subject, own]) =>
    [onOneLine(subject), ...own.map(printLine)].join("\n"),
  );
  const count = (outcome: Outcome): number =>
    lines.filter((line) => line.outcome === outcome).length;
  const sums = `${count("carried")} carried, ${count("approximated")} approximated, ${count("dropped")} dropped`;
  return [...parts, `${sums}.`].join("\n\n");
}

const printLine = ({ field, outcome, note }: ReportLine): string =>
  `  ${outcome.padEnd(12)} ${onOneLine(`${field === "" ? "" : `${field}: `}${note}`)}`;
