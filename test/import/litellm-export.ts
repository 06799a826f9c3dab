/** An export of LiteLLM's tables: every table, and the columns that decide what a key may do. */
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";

interface Tables {
  readonly keys?: readonly JsonObject[];
  readonly teams?: readonly JsonObject[];
}

const nothing = { models: [], expires: null, blocked: false, user_id: null, team_id: null };

export const litellmExport = ({ keys = [], teams = [] }: Tables) => ({
  LiteLLM_ProxyModelTable: [],
  LiteLLM_CredentialsTable: [],
  LiteLLM_VerificationToken: keys.map((row) => ({ ...nothing, ...row })),
  LiteLLM_TeamTable: teams.map((row) => ({ models: [], blocked: false, ...row })),
  LiteLLM_BudgetTable: [],
  LiteLLM_UserTable: [],
  LiteLLM_TeamMembership: [],
  LiteLLM_OrganizationTable: [],
  LiteLLM_ModelTable: [],
  LiteLLM_EndUserTable: [],
});

/** Tables that a database of LiteLLM has beside those of a test, without rows. */
export const emptyTables = (...given: readonly string[]): string =>
  [
    `"LiteLLM_ProxyModelTable" (model_id text)`,
    `"LiteLLM_CredentialsTable" (credential_name text)`,
    `"LiteLLM_TeamTable" (team_id text)`,
    `"LiteLLM_BudgetTable" (budget_id text)`,
    `"LiteLLM_UserTable" (user_id text)`,
    `"LiteLLM_TeamMembership" (user_id text)`,
    `"LiteLLM_OrganizationTable" (organization_id text)`,
    `"LiteLLM_ModelTable" (id int)`,
    `"LiteLLM_EndUserTable" (user_id text)`,
    `"LiteLLM_VerificationToken" (token text)`,
  ]
    .filter((table) => !given.some((name) => table.startsWith(`"${name}"`)))
    .map((table) => `CREATE TABLE ${table};`)
    .join("\n");
