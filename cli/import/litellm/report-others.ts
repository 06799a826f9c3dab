/** Settings and tables of LiteLLM that are not carried. */
import type { Report, SubjectReport } from "../report.ts";
import { timeOf } from "./column-values.ts";
import { isProtection, restrictionOf, siteLosses } from "./site-losses.ts";
import { environmentSection, type LitellmSource, objectOf } from "./source.ts";

/** `now`: Unix milliseconds. */
export function reportOtherParts(source: LitellmSource, report: Report, now: number): void {
  for (const [section, settings] of source.otherSettings) reportSection(section, settings, report);
  for (const { loss, field, note } of siteLosses(source))
    report.about("all keys").dropped(field, `${note}, a protection of each key: ${loss}`);
  reportEndUsers(source, report);
  reportRotatedKeys(source, report, now);
  if (source.users.length > 0)
    report
      .about("LiteLLM_UserTable")
      .dropped("", `${rowsText(source.users.length)}: create users of the console`);
  for (const [table, rows] of source.otherTables)
    if (rows > 0)
      report
        .about(table)
        .dropped(
          "",
          `${rowsText(rows)}: ${isHistory.test(table) ? "what LiteLLM has served stays there" : "Vexel has no such entities"}`,
        );
}

const isHistory = /Spend|Daily|Log|Deleted|Metrics|HealthCheck/;

const rowsText = (rows: number): string => `${rows} ${rows === 1 ? "row" : "rows"}`;

function reportEndUsers({ endUsers }: LitellmSource, report: Report): void {
  for (const row of endUsers) {
    const restriction = restrictionOf(row) ?? "";
    report
      .about(`end user ${JSON.stringify(row.user_id)}`)
      .dropped(
        restriction,
        restriction === "budget_id"
          ? "Vexel has the same budget for all end users of a project: perEndUser"
          : "Vexel does not restrict one end user: refuse it in your application",
      );
  }
}

function reportRotatedKeys({ rotatedKeys }: LitellmSource, report: Report, now: number): void {
  for (const { active_token_id, revoke_at } of rotatedKeys) {
    const end = timeOf(revoke_at);
    if (end === undefined || end <= now) continue;
    report
      .about(`key that was replaced by ${String(active_token_id).slice(0, 10)}`)
      .refused(
        `in LiteLLM it works until ${new Date(end).toISOString()}. Its clients need the new key`,
      );
  }
}

const ownRules = "Vexel retries and fails over by its own rules";

const reasons: Readonly<Record<string, string>> = {
  budget_duration: "Vexel has no budget of the whole gateway: set budgets of projects",
  num_retries: ownRules,
  request_timeout: "set timeout of a model",
  default_fallbacks: ownRules,
  context_window_fallbacks: ownRules,
  content_policy_fallbacks: ownRules,
  cache: "Vexel has an embedding cache of its own",
  cache_params: "Vexel has an embedding cache of its own",
};

/** Reported with the models. */
const reported = new Set(["fallbacks", "model_alias_map"]);

function reportSection(section: string, settings: unknown, report: Report): void {
  const about = report.about(section);
  if (Array.isArray(settings)) {
    const entries = settings.length === 1 ? "entry" : "entries";
    about.dropped("", `${settings.length} ${entries}: Vexel does not import this list`);
    return;
  }
  if (typeof settings !== "object" || settings === null) {
    about.dropped("", "a setting of LiteLLM's process");
    return;
  }
  for (const [name, value] of Object.entries(objectOf(settings)))
    reportSetting(section, name, value, about);
}

function reportSetting(section: string, name: string, value: unknown, about: SubjectReport): void {
  const isLitellm = section === "litellm_settings";
  if (isProtection(section, name) || (isLitellm && reported.has(name))) return;
  if (section === environmentSection)
    about.carried(name, `the value of os.environ/${name} (--yaml: set the variable)`);
  else if (isLitellm && name === "drop_params" && value === true)
    about.approximated(
      name,
      "parameters: drop of image models; Vexel adapts embeddings or refuses",
    );
  else about.dropped(name, reasons[name] ?? "a setting of LiteLLM's process");
}
