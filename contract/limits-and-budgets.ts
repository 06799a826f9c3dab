/**
 * Limits and budgets of API keys, projects, end users, tags, models, upstreams and targets. They are in the contract
 * because the storage and the upstreams both use them, and neither imports the other.
 */
import type { Period } from "./budget-periods.ts";

/** Rate limits per minute and concurrency limits: of an API key, a project, a model, an upstream or a target. */
export interface Limits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly imagesPerMinute?: number;
  /** Millions of pixels. */
  readonly megapixelsPerMinute?: number;
  /** Requests in flight at the same time. */
  readonly concurrent?: number;
}

/**
 * Budgets (spend limits) in US dollars: of an API key, or of a project, which is a group of keys. Daily and monthly
 * budgets reset at midnight UTC.
 */
export interface Budget extends Readonly<Partial<Record<Period, number>>> {
  /** Whether requests of unknown price are allowed or refused. */
  readonly unknownPrice: "allow" | "refuse";
}

/**
 * The first key of a line of rotated keys, such as `key_1f` for `key_1f-2e`: they share one budget and their rate
 * limits. Keys that were not created by a rotation, and keys of the file (`file:NAME`), are their own first key.
 */
export const firstKeyId = (id: string): string => {
  const end = id.startsWith("key_") ? id.indexOf("-") : -1;
  return end === -1 ? id : id.slice(0, end);
};

/** The API key, project, end user or tag that a request is charged to. */
export interface BudgetOwner {
  readonly scope: "key" | "project" | "end_user" | "tag";
  /** A key's id, a project's name, `endUserOrTagId` of an end user or a tag. */
  readonly id: string;
}

/** The owner of a budget. */
export interface BudgetedOwner extends BudgetOwner {
  /** Shown in messages. */
  readonly name: string;
  /** The project of an end user or a tag, for messages. */
  readonly ofProject?: string;
  readonly budget: Budget;
}

/** Limits and budgets of each end user of a project, or of each of its tags that match a pattern. */
export interface EndUserOrTagLimits {
  readonly limits?: Limits;
  readonly budget?: Budget;
}

/** Neither projects nor end users nor tags contain it. */
const separator = "\t";

/** An end user or a tag of a project. Clients choose them, so their number is not bounded by the configuration. */
export const isEndUserOrTag = ({ scope }: Pick<BudgetOwner, "scope">): boolean =>
  scope === "end_user" || scope === "tag";

export const endUserOrTagId = (project: string, name: string): string =>
  `${project}${separator}${name}`;

/** The end user and the tags among these owners, for the ledger row of their request. Null: none. */
export function endUsersAndTagsText(owners: readonly BudgetedOwner[] | undefined): string | null {
  const labels = owners?.filter(isEndUserOrTag).map(({ scope, name }) => `${scope}=${name}`) ?? [];
  return labels.length === 0 ? null : labels.join(separator);
}

/** The inverse of `endUsersAndTagsText`. */
export const endUsersAndTagsOf = (text: string | null, project: string | null): BudgetOwner[] =>
  text === null
    ? []
    : text.split(separator).map((label) => {
        const at = label.indexOf("=");
        const scope = label.slice(0, at) as BudgetOwner["scope"];
        return { scope, id: endUserOrTagId(project ?? "", label.slice(at + 1)) };
      });
