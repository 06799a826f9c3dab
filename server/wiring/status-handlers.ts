/** The routes that describe the gateway itself: liveness, readiness, the OpenAPI document, and the welcome page. */
import { version } from "../../package.json";
import { createWelcome } from "../api/welcome.ts";
import type { Listener } from "../http/listen.ts";
import { json } from "../http/route.ts";
import type { Handlers } from "../http/routes.ts";
import { StaticContent } from "../http/static-content.ts";
import type { LedgerWiring } from "./ledger.ts";
import type { Replicas } from "./replicas.ts";
import type { Runtime } from "./runtime.ts";

interface StatusHandlerOptions {
  readonly hasConsole: boolean;
  readonly isReady: () => boolean;
  readonly isDraining: () => boolean;
  readonly connections: Listener["connections"];
  readonly ledger: Pick<LedgerWiring, "ledger" | "forwarding">;
  readonly replicas: Pick<Replicas, "health"> | undefined;
}

export function createStatusHandlers(
  { settings, snapshot, now }: Pick<Runtime, "settings" | "snapshot" | "now">,
  options: StatusHandlerOptions,
): Pick<Handlers, "health" | "ready" | "openapi" | "welcome"> {
  const { hasConsole, isReady, isDraining, connections, replicas } = options;
  const { ledger, forwarding } = options.ledger;
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
          ledger: ledger.writable ? "writable" : "unwritable",
          ...(forwarding && { database: forwarding.isReachable() ? "available" : "unavailable" }),
          ...replicas?.health(),
          models: snapshot().models.size,
          connections: connections(),
        },
        isReady() ? 200 : 503,
      );
    },
    openapi: async ({ headers }) => {
      openapi ??= buildDocument(settings.VEXEL_PUBLIC_URL);
      return (await openapi).respond(headers, documentHeaders);
    },
    welcome: createWelcome({ snapshot, ready: isReady, version, hasConsole, now }),
  };
}

const documentHeaders = { "content-type": "application/json", "cache-control": "no-cache" };

/** Loaded on demand: few gateways ever serve it, and loading it would delay every start. */
async function buildDocument(publicUrl: string): Promise<StaticContent> {
  const { buildOpenapi } = await import("../api/openapi.ts");
  return StaticContent.fromText(JSON.stringify(buildOpenapi(publicUrl, version)));
}
