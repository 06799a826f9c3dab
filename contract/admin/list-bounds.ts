/**
 * The most entries of each list of the admin API, which its OpenAPI document has as `maxItems`. Lists of entities have
 * those of the file and those of the store, also if they are left out because the file has too many.
 */
import { maxModels } from "../schemas/models.ts";

export const maxUsers = 10_000;
/** Of one user. A further sign-in ends the session that was used least recently. */
export const maxSessions = 100;
export const maxUpstreams = 1000;
export const maxProjects = 10_000;
export const maxWebhooks = 20;
/** Each is evaluated every minute. */
export const maxAlerts = 100;
/** The latest values of each. */
export const maxAlertValues = 60;
/** Of all models together. */
export const maxAllTargets = 20_000;

export const listBounds = {
  /** Lists in pages: the most entries of one page. */
  page: 200,
  users: maxUsers,
  sessions: maxSessions,
  tokens: 50,
  models: maxModels,
  targets: 2 * maxAllTargets,
  /** The environment provisions fewer than a thousand. */
  upstreams: 3 * maxUpstreams,
  projects: 2 * maxProjects,
  webhooks: 2 * maxWebhooks,
  alerts: 2 * maxAlerts,
  replicas: 1000,
  settings: 1000,
  upstreamKinds: 1000,
  usage: 2000,
  /** Months, as long as usage is kept. */
  statements: 100,
  /** Up to five budgets or limits of each owner. */
  ownerLines: 5 * 200,
  accessKeys: 100,
  points: 1000,
} as const;
