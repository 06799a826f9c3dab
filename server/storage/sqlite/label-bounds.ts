/** Bounds the labels of each hour, so that clients that send many names do not grow the roll-ups. */
import type { Statement } from "bun:sqlite";
import { isAllTags, maxLabels, otherLabel } from "../sql/labels.ts";
import { rollUps } from "../sql/roll-ups.ts";
import type { PreparedStatements } from "./prepared-statements.ts";

/** The latest hours whose labels are in memory. Rows of other hours are rare: requests that took long. */
const maxHours = 3;

interface Labels {
  /** By API key. */
  readonly ofKeys: Map<string, Set<string>>;
  count: number;
}

interface HourLabels {
  readonly allTags: Labels;
  readonly others: Labels;
}

const familyOf = ({ allTags, others }: HourLabels, label: string): Labels =>
  isAllTags(label) ? allTags : others;

/** Begins with the labels that the roll-up by hour has already. */
export class LabelBounds {
  readonly #read: Statement;
  readonly #hours = new Map<number, HourLabels>();

  constructor(statements: PreparedStatements) {
    const { table } = rollUps.hourWithLabel;
    this.#read = statements.prepare(`SELECT DISTINCT key_id, label FROM ${table} WHERE hour = ?1`);
  }

  /** The label, or the one for all labels above the bound. */
  bound(hour: number, keyId: string, label: string): string {
    const labels = familyOf(this.#hours.get(hour) ?? this.#load(hour), label);
    const isFull = labels.count >= maxLabels.ofHour;
    const ofKey = labels.ofKeys.get(keyId);
    if (ofKey?.has(label)) return label;
    if (isFull || (ofKey?.size ?? 0) >= maxLabels.ofKey) return otherLabel(label);
    addLabel(labels, keyId, label);
    return label;
  }

  #load(hour: number): HourLabels {
    const labels: HourLabels = {
      allTags: { ofKeys: new Map(), count: 0 },
      others: { ofKeys: new Map(), count: 0 },
    };
    for (const [keyId, label] of this.#read.values(hour) as [string, string][]) {
      if (label !== otherLabel(label)) addLabel(familyOf(labels, label), keyId, label);
    }
    this.#hours.set(hour, labels);
    if (this.#hours.size > maxHours) this.#hours.delete(Math.min(...this.#hours.keys()));
    return labels;
  }
}

function addLabel(labels: Labels, keyId: string, label: string): void {
  const ofKey = labels.ofKeys.get(keyId);
  if (ofKey) ofKey.add(label);
  else labels.ofKeys.set(keyId, new Set([label]));
  labels.count++;
}
