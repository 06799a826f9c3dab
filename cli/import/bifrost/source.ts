/** Bifrost's configuration, as its config.json has it. The SQLite database is read into the same form. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";

export interface BifrostSource {
  /** Providers by name: `keys`, `network_config`, `custom_provider_config`, `budget_id`, `rate_limit_id`. */
  readonly providers: ReadonlyMap<string, JsonObject>;
  readonly virtualKeys: readonly JsonObject[];
  readonly teams: readonly JsonObject[];
  readonly customers: readonly JsonObject[];
  readonly budgets: readonly JsonObject[];
  readonly rateLimits: readonly JsonObject[];
  /** Budgets and limits of single models. */
  readonly modelConfigs: readonly JsonObject[];
  readonly routingRules: readonly JsonObject[];
  readonly plugins: readonly JsonObject[];
}

export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value)
    ? value.filter((entry): entry is JsonObject => typeof entry === "object" && entry !== null)
    : [];

export const objectIn = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

/** Lists of names: absent is empty, and permits nothing. */
export const namesIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : [];

/** A plain text, `env.NAME`, or an object with one of them. */
export const textIn = (value: unknown): string => {
  if (typeof value === "string") return value;
  const { value: text, env_var: variable, from_env: isVariable, ref } = objectIn(value);
  if (isVariable === true && typeof variable === "string")
    return `env.${variable.replace(/^env\./, "")}`;
  return typeof text === "string" && text !== "" ? text : String(ref ?? "");
};
