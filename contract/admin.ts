/**
 * The JSON of the admin API (/admin/api): what the server sends, the console reads and the OpenAPI document describes.
 * The zod schemas in contract/admin are the only source. This file exports their types, and constants: it loads neither
 * the schemas nor zod.
 * Times are ISO 8601 in UTC, money is in US dollars, durations are in milliseconds. `null` means unknown or
 * absent, never 0.
 */
export type * from "./admin/account.ts";
export type * from "./admin/alerts.ts";
export type * from "./admin/audit.ts";
export type * from "./admin/budgets.ts";
export * from "./admin/constants.ts";
export type * from "./admin/entities.ts";
export type * from "./admin/error.ts";
export type * from "./admin/events.ts";
export type * from "./admin/jobs.ts";
export type * from "./admin/keys.ts";
export type * from "./admin/models.ts";
export type * from "./admin/oidc.ts";
export type * from "./admin/overview.ts";
export type * from "./admin/page.ts";
export type * from "./admin/replicas.ts";
export type * from "./admin/requests.ts";
export * from "./admin/roles.ts";
export type * from "./admin/session.ts";
export type * from "./admin/settings.ts";
export type * from "./admin/statements.ts";
export type * from "./admin/statistics.ts";
export type * from "./admin/upstreams.ts";
export type * from "./admin/usage.ts";
export type * from "./admin/users.ts";
