/**
 * Refuses what clients store where there is no storage for it: replicas share a database, and no object store for the
 * contents.
 */
import { type StoredRouteName, storedRoutes } from "../http/stored-routes.ts";
import { GatewayError } from "../lib/gateway-error.ts";

const refuseFile = async (): Promise<never> => {
  throw new GatewayError(
    "files_unavailable",
    "The replicas of this gateway share a database, and no storage for files. Ask its operator to set BLOB_URL.",
  );
};

export const refuseJob = async (): Promise<never> => {
  throw new GatewayError(
    "jobs_unavailable",
    "The replicas of this gateway share a database, and no storage for jobs. Ask its operator to set BLOB_URL, or send the request without 'async' and 'Prefer: respond-async'.",
  );
};

const isFilePath = /^\/v1\/(?:files|uploads)\b/;

/** For every route of what clients store. */
export const refusingHandlers = Object.fromEntries(
  storedRoutes.map(({ name, path }) => [name, isFilePath.test(path) ? refuseFile : refuseJob]),
) as Record<StoredRouteName, typeof refuseJob>;
