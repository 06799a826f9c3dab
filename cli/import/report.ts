/** What became of each field of the imported gateway, with the reason. */
import type { FoundLoss, Loss } from "./losses.ts";

/**
 * `approximated`: carried, and not looser. `left out`: a model name that would give vectors of another model. `lost`: a
 * protection, which the user accepts or which refuses its subject. `refused`: the subject is not imported.
 */
export type Outcome = "carried" | "approximated" | "dropped" | "left out" | "lost" | "refused";

export interface ReportLine {
  /** Such as `key "web"`. */
  readonly subject: string;
  /** Empty: the whole subject. */
  readonly field: string;
  readonly outcome: Outcome;
  /** What the field became, or why it was dropped. */
  readonly note: string;
  readonly loss?: Loss;
  /** The user accepts the loss. */
  readonly isAccepted?: boolean;
}

export class Report {
  readonly #lines: ReportLine[] = [];
  readonly #accepted: ReadonlySet<string>;

  constructor(accepted: ReadonlySet<string> = new Set()) {
    this.#accepted = accepted;
  }

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
    const lost = (found: readonly FoundLoss[]): boolean => {
      for (const { loss, field, note } of found) {
        const isAccepted = this.#accepted.has(loss);
        this.#lines.push({ subject, field, outcome: "lost", note, loss, isAccepted });
      }
      const missing = new Set(
        found.flatMap(({ loss }) => (this.#accepted.has(loss) ? [] : [loss])),
      );
      if (missing.size === 0) return true;
      const names = [...missing].toSorted();
      const options = names.map((name) => `--accept ${name}`).join(" ");
      refused(`it would lose ${names.join(", ")} (${options})`);
      return false;
    };
    const refused = (reason: string): void => add("refused")("", `not imported: ${reason}`);
    return {
      subject,
      carried: add("carried"),
      approximated: add("approximated"),
      dropped: add("dropped"),
      leftOut: add("left out"),
      refused,
      lost,
    };
  }
}

export interface SubjectReport {
  readonly subject: string;
  carried(field: string, note: string): void;
  approximated(field: string, note: string): void;
  dropped(field: string, note: string): void;
  leftOut(field: string, note: string): void;
  /** The whole subject. */
  refused(reason: string): void;
  /** Returns whether the user accepts all of these losses. If not, the subject is refused. */
  lost(found: readonly FoundLoss[]): boolean;
}
