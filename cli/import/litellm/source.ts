/** What is read of LiteLLM: from its config.yaml, from its database, or from an export of its tables. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";

/** An entry of `model_list`, or a row of LiteLLM_ProxyModelTable. */
export interface LitellmModel {
  readonly model_name: string;
  readonly litellm_params: JsonObject;
  readonly model_info: JsonObject;
  /** Where it was read, such as `config.yaml, model_list[2]`. */
  readonly where: string;
  readonly isBlocked?: boolean;
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
  /** Rows of LiteLLM_UserTable. */
  readonly users: readonly JsonObject[];
  /** Rows of LiteLLM_ProjectTable, which group keys of a team. */
  readonly projects: readonly JsonObject[];
  /** Rows of LiteLLM_AccessGroupTable. */
  readonly accessGroups: readonly JsonObject[];
  /** Rows of LiteLLM_TeamMembership, with the budgets and models of single members. */
  readonly members: readonly JsonObject[];
  /** Rows of LiteLLM_OrganizationTable. */
  readonly organizations: readonly JsonObject[];
  /** Rows of LiteLLM_ModelTable: aliases of models for one team. */
  readonly teamAliases: readonly JsonObject[];
  /** Rows of LiteLLM_TagTable. */
  readonly tags: readonly JsonObject[];
  /** Rows of LiteLLM_ModelAccessGroupBudgetTable. */
  readonly groupBudgets: readonly JsonObject[];
  /** Rows of LiteLLM_GuardrailsTable. */
  readonly guardrails: readonly JsonObject[];
  /** Rows of LiteLLM_PolicyAttachmentTable. */
  readonly policies: readonly JsonObject[];
  /** Rows of LiteLLM_EndUserTable that restrict an end user. */
  readonly endUsers: readonly JsonObject[];
  /** Rows of LiteLLM_DeprecatedVerificationToken: rotated keys that still work. */
  readonly rotatedKeys: readonly JsonObject[];
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
  users: [],
  projects: [],
  accessGroups: [],
  members: [],
  organizations: [],
  teamAliases: [],
  tags: [],
  groupBudgets: [],
  guardrails: [],
  policies: [],
  endUsers: [],
  rotatedKeys: [],
  routerSettings: {},
  otherSettings: new Map(),
  environment: {},
  masterKey: undefined,
  otherTables: new Map(),
};

export const objectOf = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

/** A column of type JSON. An export may have it as text. */
export function jsonOf(value: unknown): JsonObject {
  if (typeof value !== "string") return objectOf(value);
  try {
    return objectOf(JSON.parse(value));
  } catch {
    return {};
  }
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Both sources together. As in LiteLLM, a setting of the database overrides the setting of the file. */
export const joinSources = (file: LitellmSource, database: LitellmSource): LitellmSource => ({
  ...database,
  models: [...file.models, ...database.models],
  credentials: new Map([...file.credentials, ...database.credentials]),
  routerSettings: { ...file.routerSettings, ...database.routerSettings },
  otherSettings: joinSections(file.otherSettings, database.otherSettings),
  environment: { ...file.environment, ...database.environment },
  masterKey: file.masterKey,
});

type Sections = LitellmSource["otherSettings"];

const joinSections = (file: Sections, database: Sections): Sections =>
  new Map([
    ...file,
    ...[...database].map(([name, settings]): [string, unknown] => [
      name,
      Array.isArray(settings) ? settings : { ...objectOf(file.get(name)), ...objectOf(settings) },
    ]),
  ]);
