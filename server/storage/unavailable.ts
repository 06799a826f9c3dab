/** Whether a shared storage (database, object store) could not be reached. */
import { GatewayError } from "../lib/gateway-error.ts";

export const isUnavailable = (error: unknown): boolean =>
  error instanceof GatewayError && error.kind === "storage_unavailable";
