/** The plan of an import from new-api. */
import { secretHash } from "../../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";
import type { NewKey } from "../../../server/storage/ports/key-store.ts";
import { type ImportPlan, importedKeyId, printableName, Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { planChannels } from "./plan-channels.ts";
import type { NewApiSource } from "./read.ts";

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
  const keys = source.tokens.flatMap((token) => {
    const about = report.about(`token ${JSON.stringify(nameOf(token))}`);
    return planToken(token, models, about, options) ?? [];
  });
  if (source.users > 0)
    report
      .about("users")
      .dropped(
        "",
        `${source.users}: create users of the console, and their quota as budgets of projects`,
      );
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

const nameOf = ({ name, id }: JsonObject): string => printableName(String(name || `token ${id}`));

const enabled = 1;

function planToken(
  token: JsonObject,
  models: ReadonlyMap<string, unknown>,
  report: SubjectReport,
  options: Options,
): NewKey | undefined {
  const expires = Number(token.expired_time ?? -1);
  const expiresAt = expires > 0 ? expires * 1000 : undefined;
  if (Number(token.status ?? enabled) !== enabled) {
    report.dropped("", "not imported: the token is disabled, expired or exhausted");
    return undefined;
  }
  if (expiresAt !== undefined && expiresAt <= options.now) {
    report.dropped("", "not imported: the token has expired");
    return undefined;
  }
  const allowed = modelsOf(token, models, report);
  if (!allowed) return undefined;
  // new-api stores the key without its prefix, and removes the prefix of keys that clients send.
  const hash = secretHash(`sk-${String(token.key).trim()}`);
  report.carried("key", "by its hash: clients keep the key");
  if (expiresAt !== undefined) report.carried("expired_time", new Date(expiresAt).toISOString());
  if (token.allow_ips)
    report.dropped("allow_ips", "Vexel does not restrict keys by address: use the firewall");
  if (token.group) report.dropped("group", "Vexel has no groups: restrict keys by their models");
  return {
    id: importedKeyId(hash),
    name: nameOf(token),
    hash,
    hint: `sk-${String(token.key).slice(0, 4)}`,
    models: allowed,
    createdAt: Number(token.created_time ?? 0) * 1000 || options.now,
    ...(expiresAt !== undefined && { expiresAt }),
    ...budgetOf(token, report, options),
  };
}

function modelsOf(
  { model_limits_enabled, model_limits }: JsonObject,
  imported: ReadonlyMap<string, unknown>,
  report: SubjectReport,
): readonly string[] | undefined {
  if (!model_limits_enabled || Number(model_limits_enabled) === 0) {
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

/** The quota that is left becomes a budget in total. */
function budgetOf(
  { unlimited_quota, remain_quota }: JsonObject,
  report: SubjectReport,
  { quotaPerDollar, isConfirmed }: Options,
): Pick<NewKey, "budget"> {
  if (unlimited_quota && Number(unlimited_quota) !== 0) return {};
  const total = Math.max(0, Number((Number(remain_quota ?? 0) / quotaPerDollar).toFixed(6)));
  const became = `budget.total: ${total} at ${quotaPerDollar} per US dollar`;
  if (isConfirmed) report.carried("remain_quota", became);
  else report.approximated("remain_quota", `${became}. Confirm it with --quota-per-dollar`);
  return { budget: { total, unknownPrice: "allow" } };
}
