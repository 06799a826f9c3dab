/** Protections of the whole LiteLLM: they apply to every key. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { FoundLoss, Loss } from "../losses.ts";
import { hasContent, isTrue, namesOf } from "./column-values.ts";
import { budgetNames } from "./row-losses.ts";
import { type LitellmSource, listOf, objectOf } from "./source.ts";

/** Settings with a protection, by section. */
const settings: Readonly<Record<string, Readonly<Record<string, Loss>>>> = {
  general_settings: {
    allowed_ips: "ip-lists",
    custom_auth: "custom-auth",
    enforce_user_param: "enforced-params",
    enforced_params: "enforced-params",
    reject_clientside_metadata_tags: "enforced-params",
    global_max_parallel_requests: "shared-budgets",
    apply_user_budget_to_team_keys: "member-budgets",
  },
  litellm_settings: {
    max_budget: "shared-budgets",
    max_end_user_budget: "end-users",
    max_end_user_budget_id: "end-users",
    block_requests_for_models_without_pricing: "unpriced-models",
  },
  router_settings: { provider_budget_config: "shared-budgets" },
};

/** Callbacks that refuse or change requests. Others write logs. */
const checks =
  /guardrail|moderation|prompt_injection|hide_secrets|banned_keywords|blocked_user|presidio|aporia|lakera|llmguard|llamaguard/;

export const siteLosses = (source: LitellmSource): readonly FoundLoss[] => [
  ...settingLosses(source),
  ...checkLosses(source),
  ...endUserLosses(source),
  ...budgetLosses(source),
];

/** Whether the setting is reported as a lost protection. */
export const isProtection = (section: string, name: string): boolean =>
  settings[section]?.[name] !== undefined;

function settingLosses({ otherSettings, routerSettings }: LitellmSource): readonly FoundLoss[] {
  return Object.entries(settings).flatMap(([section, names]) => {
    const values =
      section === "router_settings" ? routerSettings : objectOf(otherSettings.get(section));
    return Object.entries(names).flatMap(([name, loss]) =>
      hasContent(values[name])
        ? [{ loss, field: `${section}.${name}`, note: "a setting for all keys" }]
        : [],
    );
  });
}

function checkLosses({ otherSettings, guardrails, policies }: LitellmSource): FoundLoss[] {
  const litellm = objectOf(otherSettings.get("litellm_settings"));
  const active = [...listOf(otherSettings.get("guardrails")), ...guardrails].filter((entry) =>
    isTrue(objectOf(objectOf(entry).litellm_params).default_on),
  );
  const callbacks = ["callbacks", "guardrails"].flatMap((name) =>
    listOf(litellm[name]).filter((entry) => checks.test(JSON.stringify(entry) ?? "")),
  );
  const attached = [...listOf(otherSettings.get("policy_attachments")), ...policies];
  const note = "for all keys";
  return [
    ...(active.length > 0
      ? [{ loss: "guardrails", field: "guardrails", note: `${active.length} ${note}` } as const]
      : []),
    ...(callbacks.length > 0
      ? [{ loss: "guardrails", field: "litellm_settings.callbacks", note } as const]
      : []),
    ...(attached.length > 0
      ? [{ loss: "policies", field: "policy_attachments", note: `${attached.length}` } as const]
      : []),
  ];
}

/** What restricts an end user, whichever key has the request. */
export const restrictionOf = (row: JsonObject): string | undefined => {
  if (isTrue(row.blocked)) return "blocked";
  if ((namesOf(row.models)?.length ?? 1) > 0) return "models";
  return ["allowed_model_region", "budget_id"].find((name) => hasContent(row[name]));
};

function endUserLosses({ endUsers }: LitellmSource): readonly FoundLoss[] {
  const restricted = endUsers.filter((row) => restrictionOf(row) !== undefined).length;
  if (restricted === 0) return [];
  return [
    {
      loss: "end-users",
      field: "LiteLLM_EndUserTable",
      note: `${restricted} end users with a budget, a block, models or a region, whichever key they use`,
    },
  ];
}

function budgetLosses({ tags, groupBudgets, budgets }: LitellmSource): readonly FoundLoss[] {
  const rows = new Map(budgets.map((row) => [String(row.budget_id), row]));
  const limited = (list: readonly JsonObject[]): number =>
    list.filter(({ budget_id }) => budgetNames(rows.get(String(budget_id))).length > 0).length;
  const found = (field: string, count: number): FoundLoss[] =>
    count === 0 ? [] : [{ loss: "shared-budgets", field, note: `${count} with a budget` }];
  return [
    ...found("LiteLLM_TagTable", limited(tags)),
    ...found("LiteLLM_ModelAccessGroupBudgetTable", limited(groupBudgets)),
  ];
}
