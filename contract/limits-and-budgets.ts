/**
 * Limits and budgets of API keys, projects, end users, tags, models, upstreams and targets. They are in the contract
 * because the storage and the upstreams both use them, and neither imports the other.
 */
import type { Period } from "./budget-periods.ts";

/** The time in which a rate limit refills. */
export const rateWindowMs = 60_000;

/**
 * The rate limits. The settings, options, columns, headers and forms of each are made of its `name`; `unit`: how many
 * items the gateway counts for one of the setting. `server/limits/request-demand.ts` says what a request takes.
 */
export const rateLimits = [
  { rate: "requests", name: "requests", unit: 1, text: "requests per min (RPM)" },
  { rate: "tokens", name: "tokens", unit: 1, text: "tokens per min (TPM)" },
  { rate: "images", name: "images", unit: 1, text: "images per min (IPM)" },
  { rate: "pixels", name: "megapixels", unit: 1_000_000, text: "megapixels per min" },
] as const;

export type Rate = (typeof rateLimits)[number]["rate"];
export type RateName = (typeof rateLimits)[number]["name"];

/**
 * Rate limits per minute, and `concurrent`, the limit of requests in flight at the same time: of an API key, a
 * project, a model, an upstream or a target.
 */
export type Limits = Readonly<Partial<Record<`${RateName}PerMinute` | "concurrent", number>>>;

export const limitNames: readonly (keyof Limits)[] = [
  ...rateLimits.map(({ name }) => `${name}PerMinute` as const),
  "concurrent",
];

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

/** The end user and the tags that a request is charged to, for the ledger row of their request. */
export function endUsersAndTagsText(owners: readonly BudgetedOwner[] | undefined): string | null {
  if (!owners?.some(isEndUserOrTag)) return null;
  const charged = owners.filter(isEndUserOrTag);
  return charged.map(({ scope, name }) => `${scope}=${name}`).join(separator);
}

/** The inverse of `endUsersAndTagsText`. */
export const endUsersAndTagsOf = (text: string | null, project: string | null): BudgetOwner[] =>
  text === null
    ? []
    : text.split(separator).map((owner) => {
        const at = owner.indexOf("=");
        const scope = owner.slice(0, at) as BudgetOwner["scope"];
        return { scope, id: endUserOrTagId(project ?? "", owner.slice(at + 1)) };
      });
