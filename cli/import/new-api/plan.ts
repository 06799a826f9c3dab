/** The plan of an import from new-api. */
import { secretHash } from "../../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";
import type { NewKey } from "../../../server/storage/ports/key-store.ts";
import { type ImportPlan, importedKeyId, printableName, Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { planChannels } from "./plan-channels.ts";
import type { NewApiSource } from "./read.ts";
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
  const models = planChannels(source.channels, upstreams, report);
  const users = new Map(source.users.map((user) => [String(user.id), user]));
  const keys = source.tokens.flatMap((token) => {
    const about = report.about(`token ${JSON.stringify(nameOf(token))}`);
    const user = users.get(String(token.user_id));
    const refused = refusalOf(token, options.now) ?? refusalOfUser(user);
    if (refused === undefined) return planToken(token, user, models, about, options) ?? [];
    about.dropped("", `not imported: ${refused}`);
    return [];
  });
  const present = source.users.filter(isPresent).length;
  if (present > 0)
    report
      .about("users")
      .dropped(
        "",
        `${present}: create users of the console, and their quota as budgets of projects`,
      );
  reportOptions(source.options, report);
  const used = new Set(
    [...models.values()].flatMap(({ targets }) =>
      (targets as readonly { upstream: string }[]).map(({ upstream }) => upstream),
    ),
  );
  return {
    upstreams: new Map([...upstreams.all].filter(([id]) => used.has(id))),
    models,
    projects: new Map(),
    keys,
  };
}

/** Options with prices: JSON objects with a number for each model, or for each group of users. */
const priceOptions =
  /^(?:Model|Completion|Cache|CreateCache|Image|Audio|AudioCompletion|Group|GroupGroup|TopupGroup)(?:Ratio|Price)$/;

function reportOptions(names: readonly string[], report: Report): void {
  const about = report.about("options");
  const prices = names.filter((name) => priceOptions.test(name));
  for (const name of prices)
    about.dropped(name, "Vexel has list prices of its own: set the price of a target instead");
  const others = names.filter((name) => name !== "QuotaPerUnit" && !prices.includes(name));
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

function planToken(
  token: JsonObject,
  user: JsonObject | undefined,
  models: ReadonlyMap<string, unknown>,
  report: SubjectReport,
  options: Options,
): NewKey | undefined {
  const expiresAt = expiryOf(token);
  const allowed = modelsOf(token, models, report);
  if (!allowed) return undefined;
  // new-api stores the key without its prefix, and removes the prefix of keys that clients send.
  const key = `sk-${String(token.key).trim()}`;
  const hash = secretHash(key);
  report.carried("key", "by its hash: clients keep the key");
  if (expiresAt !== undefined) report.carried("expired_time", new Date(expiresAt).toISOString());
  if (token.allow_ips)
    report.dropped("allow_ips", "Vexel does not restrict keys by address: use the firewall");
  if (token.group) report.dropped("group", "Vexel has no groups: restrict keys by their models");
  return {
    id: importedKeyId(hash),
    name: nameOf(token),
    hash,
    hint: key.slice(0, 7),
    models: allowed,
    createdAt: Number(token.created_time ?? 0) * 1000 || options.now,
    ...(expiresAt !== undefined && { expiresAt }),
    ...budgetOf(token, user, report, options),
  };
}

function modelsOf(
  { model_limits_enabled, model_limits }: JsonObject,
  imported: ReadonlyMap<string, unknown>,
  report: SubjectReport,
): readonly string[] | undefined {
  if (!flagOf(model_limits_enabled)) {
    report.carried("models", "all models");
    return ["*"];
  }
  const given = String(model_limits ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const known = given.filter((name) => imported.has(name));
  if (known.length === 0) {
    report.dropped("", `not imported: Vexel serves none of its models (${given.join(", ")})`);
    return undefined;
  }
  if (known.length < given.length)
    report.dropped(
      "model_limits",
      `not served: ${given.filter((name) => !imported.has(name)).join(", ")}`,
    );
  report.carried("model_limits", known.join(", "));
  return known;
}

/** The quota that is left becomes a budget in total. The quota of the user limits a token without a quota. */
function budgetOf(
  { unlimited_quota, remain_quota }: JsonObject,
  user: JsonObject | undefined,
  report: SubjectReport,
  { quotaPerDollar, isConfirmed }: Options,
): Pick<NewKey, "budget"> {
  if (flagOf(unlimited_quota)) {
    report.dropped(
      "unlimited_quota",
      `the key has no budget. In new-api the quota of its user, ${user?.quota ?? 0}, limited it: set a budget of the key or its project`,
    );
    return {};
  }
  const total = Math.max(0, Number((Number(remain_quota ?? 0) / quotaPerDollar).toFixed(6)));
  const became = `budget.total: ${total} at ${quotaPerDollar} per US dollar`;
  if (isConfirmed) report.carried("remain_quota", became);
  else report.approximated("remain_quota", `${became}. Confirm it with --quota-per-dollar`);
  return { budget: { total, unknownPrice: "allow" } };
}
