/** What is read of LiteLLM: from its config.yaml, from its database, or from an export of its tables. */
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";

/** An entry of `model_list`, or a row of LiteLLM_ProxyModelTable. */
export interface LitellmModel {
  readonly model_name: string;
  readonly litellm_params: JsonObject;
  readonly model_info: JsonObject;
  /** Where it was read, such as `config.yaml, model_list[2]`. */
  readonly where: string;
}

export interface LitellmSource {
  readonly models: readonly LitellmModel[];
  /** Credentials by name, which entries name by `litellm_credential_name`. */
  readonly credentials: ReadonlyMap<string, JsonObject>;
  /** Rows of LiteLLM_VerificationToken. */
  readonly keys: readonly JsonObject[];
  /** Rows of LiteLLM_TeamTable. */
  readonly teams: readonly JsonObject[];
  /** Rows of LiteLLM_BudgetTable. */
  readonly budgets: readonly JsonObject[];
  readonly routerSettings: JsonObject;
  /** Other settings by section, which Vexel has no use for. */
  readonly otherSettings: ReadonlyMap<string, unknown>;
  /** Values of variables that the file has itself. They override the environment. */
  readonly environment: JsonObject;
  readonly masterKey: unknown;
  /** Tables with rows that cannot be carried, with their number of rows. */
  readonly otherTables: ReadonlyMap<string, number>;
}

/** The section of config.yaml with values of variables. */
export const environmentSection = "environment_variables";

export const emptySource: LitellmSource = {
  models: [],
  credentials: new Map(),
  keys: [],
  teams: [],
  budgets: [],
  routerSettings: {},
  otherSettings: new Map(),
  environment: {},
  masterKey: undefined,
  otherTables: new Map(),
};

export const objectOf = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Both sources together: the file first. */
export const joinSources = (file: LitellmSource, database: LitellmSource): LitellmSource => ({
  models: [...file.models, ...database.models],
  credentials: new Map([...file.credentials, ...database.credentials]),
  keys: database.keys,
  teams: database.teams,
  budgets: database.budgets,
  routerSettings: file.routerSettings,
  otherSettings: file.otherSettings,
  environment: file.environment,
  masterKey: file.masterKey,
  otherTables: database.otherTables,
});
