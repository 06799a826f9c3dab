/**
 * The column `label` of the usage tables. The labels of a request are each of its tags, all of its tags as one, its end
 * user and, if it failed, its status. The roll-ups by label have a row for each of them. Clients choose most names, so
 * the names of one API key and of one hour are bounded, and the requests of all others are summed under the name
 * "(other)".
 */
import {
  type LabelKind,
  type LedgerFilter,
  labelKinds,
  type UsageQuery,
} from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { Parameters } from "./database.ts";

/** No tag has this name: a tag has no parentheses. */
export const otherName = "(other)";

/** Labels with a name of their own in the usage of one hour: of one API key, and of all. */
export const maxLabels = { ofKey: 1000, ofHour: 20_000 } as const;

const labelOf = (kind: LabelKind, name: string): string => `${kind}=${name}`;

/**
 * Begins the label with all tags of a request. The total without these labels is the usage of requests without a tag.
 * They have bounds of their own, so that they displace no other label.
 */
export const allTagsPrefix = labelOf("tags", "");

export const isAllTags = (label: string): boolean => label.startsWith(allTagsPrefix);

/** The label of the same kind for names above the bound. */
export const otherLabel = (label: string): string =>
  labelOf(label.slice(0, label.indexOf("=")) as LabelKind, otherName);

export const nameIn = (label: string): string => label.slice(label.indexOf("=") + 1);

/** The tags of a row are separated by commas. */
export const tagsOf = ({ tags }: Pick<LedgerRow, "tags">): readonly string[] =>
  tags === null ? [] : tags.split(",");

export const labelsOf = (
  row: Pick<LedgerRow, "tags" | "endUser" | "error" | "status">,
): readonly string[] => [
  ...tagsOf(row).map((tag) => labelOf("tag", tag)),
  ...(row.tags === null ? [] : [labelOf("tags", row.tags)]),
  ...(row.endUser === null ? [] : [labelOf("endUser", row.endUser)]),
  ...(row.error === null ? [] : [labelOf("failedStatus", String(row.status))]),
];

/** The name of a label in a filter. Undefined for every name. */
export const filteredLabel = (filter: LedgerFilter, kind: LabelKind): string | undefined =>
  kind === "failedStatus" || kind === "tags" ? undefined : filter[kind];

/** The kind of label that a query groups or filters by. A query has one kind. */
export const labelKindOf = ({
  groupBy = [],
  attributedBy,
  ...filter
}: LedgerFilter & Pick<Partial<UsageQuery>, "groupBy" | "attributedBy">): LabelKind | undefined =>
  (attributedBy === "tag" ? "tags" : attributedBy) ??
  labelKinds.find((kind) => groupBy.includes(kind)) ??
  labelKinds.find((kind) => filteredLabel(filter, kind) !== undefined);

/** The condition on the column `label` of a roll-up. `withOther`: names above the bound match too. */
export function labelFilterOf(
  filter: LedgerFilter,
  kind: LabelKind | undefined,
  parameters: Parameters,
  withOther = false,
): string {
  if (!kind) return "";
  const name = filteredLabel(filter, kind);
  if (name === undefined) return ` AND label >= '${kind}=' AND label < '${kind}>'`;
  const names = withOther ? [name, otherName] : [name];
  return ` AND ${parameters.inList(
    "label",
    names.map((each) => labelOf(kind, each)),
  )}`;
}

/** The condition on the columns of a ledger row that it has a label of the kind. */
export function rowLabeledFilterOf({ attributedBy }: Pick<UsageQuery, "attributedBy">): string {
  if (!attributedBy) return "";
  return ` AND ${attributedBy === "tag" ? "tags" : "end_user"} IS NOT NULL`;
}

/** The condition on the columns of a ledger row. `replace` compares letters exactly in SQLite and PostgreSQL. */
export function rowLabelFilterOf(
  { tag, endUser }: LedgerFilter,
  parameters: Parameters,
): readonly string[] {
  const listed = "(',' || tags || ',')";
  return [
    ...(tag === undefined
      ? []
      : [`${listed} <> replace(${listed}, ${parameters.add(`,${tag},`)}, '')`]),
    ...(endUser === undefined ? [] : [`end_user = ${parameters.add(endUser)}`]),
  ];
}
