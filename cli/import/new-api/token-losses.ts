/** Protections of new-api that Vexel does not have. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { FoundLoss, Loss } from "../losses.ts";
import { flagOf } from "./values.ts";

/** Options that protect all tokens, and what switches them on. */
const switches: Readonly<Record<string, Loss>> = {
  ModelRequestRateLimitEnabled: "rate-limits",
  CheckSensitiveOnPromptEnabled: "guardrails",
};

export const isProtection = (option: string): boolean => Object.hasOwn(switches, option);

export function siteLosses(options: ReadonlyMap<string, string>): readonly FoundLoss[] {
  const isOn = (name: string): boolean => flagOf(options.get(name) ?? null) === true;
  // The check of prompts needs its own switch, and a list of words.
  const hasWords = (options.get("SensitiveWords") ?? "").trim() !== "";
  const isChecked = flagOf(options.get("CheckSensitiveEnabled") ?? true) === true && hasWords;
  return Object.entries(switches).flatMap(([field, loss]) =>
    isOn(field) && (loss !== "guardrails" || isChecked)
      ? [{ loss, field: `options.${field}`, note: "a setting for all tokens" }]
      : [],
  );
}

const knownColumns: ReadonlySet<string> = new Set([
  "id",
  "user_id",
  "key",
  "status",
  "name",
  "created_time",
  "accessed_time",
  "expired_time",
  "remain_quota",
  "unlimited_quota",
  "model_limits_enabled",
  "model_limits",
  "allow_ips",
  "used_quota",
  "group",
  "cross_group_retry",
  "auto_groups",
  "deleted_at",
]);

export const tokenLosses = (token: JsonObject): readonly FoundLoss[] => [
  ...addressLosses(token),
  ...Object.entries(token).flatMap(([field, value]) =>
    knownColumns.has(field) || value === null || value === "" || value === 0 || value === false
      ? []
      : [
          {
            loss: "unknown-columns",
            field,
            note: "this version of Vexel does not know the column",
          } as const,
        ],
  ),
];

const addressLosses = ({ allow_ips }: JsonObject): readonly FoundLoss[] =>
  typeof allow_ips === "string" && allow_ips.trim() !== ""
    ? [
        {
          loss: "ip-lists",
          field: "allow_ips",
          note: "Vexel does not restrict keys by address: use the firewall",
        },
      ]
    : [];
