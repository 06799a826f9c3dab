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

export const tokenLosses = ({ allow_ips }: JsonObject): readonly FoundLoss[] =>
  typeof allow_ips === "string" && allow_ips.trim() !== ""
    ? [
        {
          loss: "ip-lists",
          field: "allow_ips",
          note: "Vexel does not restrict keys by address: use the firewall",
        },
      ]
    : [];
