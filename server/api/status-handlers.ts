/**
 * The routes that describe the gateway itself: liveness, readiness, the OpenAPI document, and the way to the console.
 */
import type { Snapshot } from "../config/snapshot.ts";
import { unknownUrl } from "../http/dispatch.ts";
import { json } from "../http/route.ts";
import type { Handlers } from "../http/routes.ts";
import type { ConnectionCounts } from "../http/server/http-server.ts";
import { StaticContent } from "../http/static-content.ts";

export interface StatusHandlerOptions {
  readonly snapshot: () => Snapshot;
  readonly version: string;
  readonly publicUrl: string;
  readonly hasConsole: boolean;
  readonly isReady: () => boolean;
  readonly isDraining: () => boolean;
  /** After a start: targets are being compared, and not all of them are used yet. */
  readonly isComparing: () => boolean;
  readonly connections: () => ConnectionCounts;
  readonly ledger: {
    readonly writable: boolean;
    /** Why it is not writable: its disk has no space left, or the ledger has its maximum size. */
    readonly isFull: boolean;
    /** Checks whether it is writable. */
    verify(): void;
  };
  /** Undefined if the ledger is in the data folder only. */
  readonly database: { isReachable(): boolean } | undefined;
  /** Undefined if replicas share nothing. */
  readonly replicas: { health(): Readonly<Record<string, string | number>> } | undefined;
}

export function createStatusHandlers(
  options: StatusHandlerOptions,
): Pick<Handlers, "health" | "ready" | "openapi" | "root"> {
  const { snapshot, version, publicUrl, hasConsole, isReady, isDraining, isComparing } = options;
  const { ledger, database, replicas, connections } = options;
  let openapi: Promise<StaticContent> | undefined;
  return {
    // Liveness: always succeeds.
    health: async () => json({ status: "ok" }),
    ready: async () => {
      ledger.verify();
      return json(
        {
          status: isReady() ? "ready" : "not ready",
          draining: isDraining(),
          comparing: isComparing(),
          ledger: ledger.writable ? "writable" : "unwritable",
          ...(!ledger.writable && { data_folder: ledger.isFull ? "full" : "failed" }),
          ...(database && { database: database.isReachable() ? "available" : "unavailable" }),
          ...replicas?.health(),
          models: snapshot().models.size,
          connections: connections(),
        },
        isReady() ? 200 : 503,
      );
    },
    openapi: async ({ headers }) => {
      openapi ??= buildDocument(publicUrl, version);
      return (await openapi).respond(headers, documentHeaders);
    },
    root: async ({ method, path }) => {
      if (!hasConsole) throw unknownUrl(method, path);
      return { status: 302, headers: { location: "/console" }, body: "" };
    },
  };
}

const documentHeaders = { "content-type": "application/json", "cache-control": "no-cache" };

/** Loaded on demand: few gateways ever serve it, and loading it would delay every start. */
async function buildDocument(publicUrl: string, version: string): Promise<StaticContent> {
  const { buildOpenapi } = await import("./openapi.ts");
  return StaticContent.fromText(JSON.stringify(buildOpenapi(publicUrl, version)));
}
