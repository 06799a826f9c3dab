/**
 * The JSON of the admin API (/admin/api): what the server sends, the console reads and the OpenAPI document describes.
 * Plain declared interfaces: no schema library, so that the console imports types only.
 * Times are ISO 8601 in UTC, money is in US dollars, durations are in milliseconds. `null` means unknown or
 * absent, never 0.
 */
export * from "./admin/audit.ts";
export * from "./admin/budgets.ts";
export * from "./admin/entities.ts";
export * from "./admin/error.ts";
export * from "./admin/events.ts";
export * from "./admin/keys.ts";
export * from "./admin/models.ts";
export * from "./admin/overview.ts";
export * from "./admin/page.ts";
export * from "./admin/requests.ts";
export * from "./admin/roles.ts";
export * from "./admin/session.ts";
export * from "./admin/settings.ts";
export * from "./admin/statistics.ts";
export * from "./admin/upstreams.ts";
export * from "./admin/usage.ts";
export * from "./admin/users.ts";
