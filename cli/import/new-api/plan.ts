/** The plan of an import from new-api. */
import { commaList } from "../../../server/lib/comma-list.ts";
import { secretHash } from "../../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { NewKey } from "../../../server/storage/sql/stored-key.ts";
import {
  type ImportPlan,
  importedKeyId,
  type PlannedKey,
  printableName,
  Upstreams,
} from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { type PlannedChannels, planChannels } from "./plan-channels.ts";
import type { NewApiSource } from "./read.ts";
import { tokenGroups } from "./token-groups.ts";
import { siteLosses, tokenLosses } from "./token-losses.ts";
import { flagOf, numberOf } from "./values.ts";

interface Options {
  /** The quota of one US dollar. */
  readonly quotaPerDollar: number;
  /** The user has named it, so that amounts are exact. */
  readonly isConfirmed: boolean;
  /** Unix milliseconds. */
  readonly now: number;
}

export function planNewApi(source: NewApiSource, report: Report, options: Options): ImportPlan {
  const upstreams = new Upstreams();
  const channels = planChannels(source, upstreams, report);
  const { models } = channels;
  const users = new Map(source.users.map((user) => [String(user.id), user]));
  const keys = source.tokens.flatMap((token) => {
    const about = report.about(`token ${JSON.stringify(nameOf(token))}`);
    const user = users.get(String(token.user_id));
    const refused = refusalOf(token, options.now) ?? refusalOfUser(user);
    if (refused === undefined && user)
      return planToken(token, user, { source, channels, report: about, options }) ?? [];
    about.refused(refused ?? "its user does not exist");
    return [];
  });
  const projects = planProjects(source.users, keys, channels, report, options);
  const hashes = source.tokens.flatMap((token) => hashOf(token) ?? []);
  const present = source.users.filter(isPresent).length;
  if (present > 0) report.about("users").dropped("", `${present}: create users of the console`);
  reportOptions(source, report);
  const used = new Set(
    [...models.values()].flatMap(({ targets }) =>
      (targets as readonly { upstream: string }[]).map(({ upstream }) => upstream),
    ),
  );
  return {
    source: "new-api",
    sourceHashes: new Set(hashes),
    upstreams: new Map([...upstreams.all].filter(([id]) => used.has(id))),
    models,
    projects,
    keys,
  };
}

/** The quota of a user limits all of its tokens: a project with a budget. */
function planProjects(
  users: readonly JsonObject[],
  keys: readonly PlannedKey[],
  { unpriced }: PlannedChannels,
  report: Report,
  options: Options,
): Map<string, JsonObject> {
  const named = new Set(keys.map(({ project }) => project));
  const owners = users.filter((user) => isPresent(user) && named.has(projectOf(user)));
  return new Map(
    owners.map((user) => {
      const about = report.about(`user ${JSON.stringify(projectOf(user))}`);
      about.carried("", `project ${JSON.stringify(projectOf(user))}`);
      return [
        projectOf(user),
        { budget: { total: dollarsOf("quota", user, [...unpriced], about, options) } },
      ];
    }),
  );
}

const projectOf = ({ username, id }: JsonObject): string =>
  printableName(String(username || `user ${id}`));

/** Options with prices: JSON objects with a number for each model, or for each group of users. */
const priceOptions =
  /^(?:Model|Completion|Cache|CreateCache|Image|Audio|AudioCompletion|Group|GroupGroup|TopupGroup)(?:Ratio|Price)$/;

const usedOptions: ReadonlySet<string> = new Set([
  "QuotaPerUnit",
  "GroupRatio",
  "AutoGroups",
  "MaxTokenAutoGroups",
  "UserUsableGroups",
  "group_ratio_setting.group_special_usable_group",
  "SelfUseModeEnabled",
]);

function reportOptions({ options }: NewApiSource, report: Report): void {
  const names = [...options.keys()];
  const about = report.about("options");
  const prices = names.filter((name) => priceOptions.test(name));
  for (const name of prices)
    if (name === "ModelRatio" || name === "ModelPrice")
      about.approximated(
        name,
        "the prices of embedding models by tokens, and of images by request",
      );
    else about.dropped(name, "prices are imported without it: set the price of a target instead");
  const others = names.filter((name) => !usedOptions.has(name) && !prices.includes(name));
  if (others.length > 0)
    about.dropped("", `${others.length} others: Vexel has settings of its own`);
}

const nameOf = ({ name, id }: JsonObject): string => printableName(String(name || `token ${id}`));

const enabled = 1;
/** The last second that a date can have. */
const lastSecond = 8.64e12;

/** Why a token gives no API key. */
function refusalOf(token: JsonObject, now: number): string | undefined {
  const { key, status, unlimited_quota, model_limits_enabled } = token;
  if (typeof key !== "string" || /^(null|undefined)?$/i.test(key.trim()))
    return "the token has no key";
  if (key.includes("*"))
    return "its key is masked. Export the table from the database, which has the whole key";
  for (const field of ["status", "expired_time", "remain_quota", "created_time"]) {
    const number = numberOf(token[field], 0);
    if (number === undefined) return `its ${field} is not a number: "${token[field]}"`;
    if (field.endsWith("_time") && Math.abs(number) > lastSecond)
      return `its ${field} is no time: ${number}`;
  }
  if (flagOf(unlimited_quota) === undefined)
    return `its unlimited_quota is neither true nor false: "${unlimited_quota}"`;
  if (flagOf(model_limits_enabled) === undefined)
    return `its model_limits_enabled is neither true nor false: "${model_limits_enabled}"`;
  if (numberOf(status, enabled) !== enabled) return "the token is disabled, expired or exhausted";
  const expiresAt = expiryOf(token);
  return expiresAt !== undefined && expiresAt <= now ? "the token has expired" : undefined;
}

/** Why new-api refuses the tokens of this user. */
function refusalOfUser(user: JsonObject | undefined): string | undefined {
  if (!user) return "its user does not exist";
  if (!isPresent(user)) return "its user is deleted";
  return numberOf(user.status, enabled) === enabled ? undefined : "its user is disabled";
}

const isPresent = ({ deleted_at }: JsonObject): boolean =>
  deleted_at === null || deleted_at === undefined;

/** Unix milliseconds. */
function expiryOf({ expired_time }: JsonObject): number | undefined {
  const seconds = Number(expired_time ?? -1);
  return seconds === -1 ? undefined : seconds * 1000;
}

interface TokenContext {
  readonly source: NewApiSource;
  readonly channels: PlannedChannels;
  readonly report: SubjectReport;
  readonly options: Options;
}

/** new-api stores the key without its prefix, and removes the prefix of keys that clients send. */
const keyOf = ({ key }: JsonObject): string => `sk-${String(key).trim()}`;
/** Undefined if the token has no key. */
const hashOf = (token: JsonObject): string | undefined =>
  typeof token.key === "string" ? secretHash(keyOf(token)) : undefined;

function planToken(
  token: JsonObject,
  user: JsonObject,
  { source, channels, report, options }: TokenContext,
): PlannedKey | undefined {
  const expiresAt = expiryOf(token);
  const groups = tokenGroups(token, user, source.options);
  if (typeof groups === "string") {
    report.refused(groups);
    return undefined;
  }
  if (!report.lost([...siteLosses(source.options), ...tokenLosses(token)])) return undefined;
  const allowed = modelsOf(token, groups, channels, report);
  if (!allowed) return undefined;
  const key = keyOf(token);
  const hash = secretHash(key);
  report.carried("key", "by its hash: clients keep the key");
  if (expiresAt !== undefined) report.carried("expired_time", new Date(expiresAt).toISOString());
  report.carried("user_id", `project ${JSON.stringify(projectOf(user))}`);
  const { budget, given } = budgetOf(token, unpricedOf(allowed, channels), report, options);
  return {
    id: importedKeyId(hash),
    name: nameOf(token),
    hash,
    hint: key.slice(0, 7),
    models: allowed,
    project: projectOf(user),
    createdAt: Number(token.created_time ?? 0) * 1000 || options.now,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(budget && { budget }),
    imported: {
      source: "new-api",
      models: allowed,
      ...(given && { budget: given }),
      ...(expiresAt !== undefined && { expiresAt }),
      project: { budget: { total: givenDollars("quota", user, options) } },
    },
  };
}

/** A token may use the models of its group, or else of the group of its user. */
function modelsOf(
  token: JsonObject,
  own: readonly string[],
  { models, groups }: PlannedChannels,
  report: SubjectReport,
): readonly string[] | undefined {
  const ofGroup = [...models.keys()].filter((name) =>
    own.some((group) => groups.get(name)?.has(group)),
  );
  const isLimited = flagOf(token.model_limits_enabled);
  const given = isLimited ? commaList(String(token.model_limits ?? "")) : ofGroup;
  const known = given.filter((name) => ofGroup.includes(name));
  if (known.length === 0) {
    const which = isLimited ? given.join(", ") : `of the group ${own.join(", ")}`;
    report.refused(`Vexel serves none of its models (${which})`);
    return undefined;
  }
  const others = given.filter((name) => !known.includes(name));
  if (others.length > 0) report.dropped("model_limits", `not served: ${others.join(", ")}`);
  report.carried(isLimited ? "model_limits" : "group", `models: ${known.join(", ")}`);
  return known;
}

const unpricedOf = (allowed: readonly string[], { unpriced }: PlannedChannels): readonly string[] =>
  [...unpriced].filter((name) => allowed.includes(name));

/** The quota that is left becomes a budget in total. The quota of the user limits a token without a quota. */
function budgetOf(
  token: JsonObject,
  unpriced: readonly string[],
  report: SubjectReport,
  options: Options,
): { readonly budget?: NewKey["budget"]; readonly given?: { readonly total: number } } {
  if (flagOf(token.unlimited_quota)) {
    report.carried("unlimited_quota", "no budget of its own: the budget of its project limits it");
    return {};
  }
  const total = dollarsOf("remain_quota", token, unpriced, report, options);
  return {
    budget: { total, unknownPrice: "allow" },
    given: { total: givenDollars("remain_quota", token, options) },
  };
}

/** The quota before what was spent of it. */
const givenDollars = (field: string, row: JsonObject, { quotaPerDollar }: Options): number => {
  const quota = (numberOf(row[field], 0) ?? 0) + (numberOf(row.used_quota, 0) ?? 0);
  return Math.max(0, Number((quota / quotaPerDollar).toFixed(6)));
};

/** US dollars of a quota. */
function dollarsOf(
  field: string,
  row: JsonObject,
  unpriced: readonly string[],
  report: SubjectReport,
  { quotaPerDollar, isConfirmed }: Options,
): number {
  const quota = numberOf(row[field], 0) ?? 0;
  const total = Math.max(0, Number((quota / quotaPerDollar).toFixed(6)));
  const notes = [
    `budget.total: ${total} at ${quotaPerDollar} per US dollar`,
    ...(isConfirmed ? [] : ["Confirm it with --quota-per-dollar"]),
    ...unpriced.map((name) => `Not enforced for model ${name}: its price is unknown; set price`),
  ];
  if (notes.length === 1) report.carried(field, notes.join(""));
  else report.approximated(field, notes.join(". "));
  return total;
}
