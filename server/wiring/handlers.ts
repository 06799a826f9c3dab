/** Constructs the handlers of all public routes. */
import { version } from "../../package.json";
import { createImageFiles } from "../api/image-files.ts";
import { createImageResultHandler } from "../api/image-results.ts";
import { createModelHandlers } from "../api/route-handlers.ts";
import { createStatusHandlers, type StatusHandlerOptions } from "../api/status-handlers.ts";
import type { Handlers } from "../http/routes.ts";
import type { StoredRouteName } from "../http/stored-routes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Metrics } from "../observe/metrics/open-metrics.ts";
import type { RequestPath } from "./request-path.ts";
import type { Runtime } from "./runtime.ts";

const metricsOff = (): GatewayError =>
  new GatewayError(
    "unknown_url",
    "Metrics are off: set VEXEL_METRICS_TOKEN for GET /metrics on this port, or VEXEL_METRICS_PORT for a port of their own.",
  );

interface HandlersOptions
  extends Pick<
    StatusHandlerOptions,
    "hasConsole" | "isReady" | "isDraining" | "isComparing" | "connections"
  > {
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Undefined if metrics are off. */
  readonly metrics: Metrics | undefined;
  /** The handlers of what clients store. */
  readonly stored: Pick<Handlers, StoredRouteName>;
}

export function wireHandlers(
  { settings, snapshot, byteTurns, responseMemory, now }: Runtime,
  requestPath: RequestPath,
  { startedAt, metrics, stored, ...status }: HandlersOptions,
): Handlers {
  const { modelServices, idempotencyStore, imageLinks, ledger, forwarding, replicas } = requestPath;
  return {
    ...stored,
    ...createModelHandlers({
      ...modelServices,
      snapshot,
      responseMemory,
      startedAt: Math.floor(startedAt / 1000),
      now,
    }),
    result: createImageResultHandler({ snapshot, store: idempotencyStore, now }),
    imageFile: createImageFiles({
      store: imageLinks,
      check: imageLinks.check,
      turns: byteTurns,
      now,
    }),
    ...createStatusHandlers({
      ...status,
      snapshot,
      version,
      publicUrl: settings.VEXEL_PUBLIC_URL,
      ledger,
      database: forwarding,
      replicas,
    }),
    metrics: async ({ headers }) => {
      if (!metrics?.respond) throw metricsOff();
      return metrics.respond(headers);
    },
  };
}
