/** Wires the admin API, its users and their sessions, and the console. */
import { responseHeaders } from "../admin/response-headers.ts";
import { readOidcSettings } from "../admin/sign-in/oidc/oidc-settings.ts";
import { Sessions } from "../admin/sign-in/sessions.ts";
import { SetupToken } from "../admin/sign-in/setup-token.ts";
import { loadConsole } from "../console/load-console.ts";
import { createServeConsole, pageHeaders } from "../console/serve-console.ts";
import type { Mount } from "../http/route.ts";
import { SqliteAuditLog } from "../storage/sqlite/audit-log.ts";
import { openGatewayDatabase } from "../storage/sqlite/gateway-database.ts";
import { SqliteSessionStore } from "../storage/sqlite/session-store.ts";
import { SqliteUserStore } from "../storage/sqlite/user-store.ts";
import type { AdminApiWiringOptions } from "./admin-api.ts";
import { stackOf } from "./crash-guard.ts";

export type AdminOptions = Omit<AdminApiWiringOptions, "users" | "auditLog" | "signIn">;

export interface AdminWiring {
  readonly mounts: readonly Mount[];
  /** The path of the one-time link, while the console is on and has no user. */
  setupPath(): Promise<string | undefined>;
  close(): void;
}

export function wireAdmin(options: AdminOptions): AdminWiring {
  const { settings, log, now } = options;
  const isConsoleOn = settings.VEXEL_CONSOLE === "on";
  const db = openGatewayDatabase(settings.VEXEL_DATA, now);
  const users = new SqliteUserStore(db);
  const auditLog = new SqliteAuditLog(db);
  const setupToken = new SetupToken();
  const sessions = new Sessions({ sessions: new SqliteSessionStore(db), users, now });
  const oidcSettings = readOidcSettings(settings);
  const signIn = isConsoleOn ? { sessions, setupToken, oidcSettings } : undefined;
  // Loaded on demand: without requests for the admin API, its framework takes no time and no memory.
  const load = async (): Promise<Mount["handle"]> =>
    (await import("./admin-api.ts")).createAdminApiHandler({ ...options, users, auditLog, signIn });
  let loading: ReturnType<typeof load> | undefined;
  const api: Mount = {
    name: "admin",
    prefix: "/admin/api",
    headers: responseHeaders,
    handle: async (incoming) => {
      loading ??= load();
      return (await loading)(incoming);
    },
  };
  const pages: Mount = {
    name: "console",
    prefix: "/console",
    headers: pageHeaders,
    handle: createServeConsole({
      load: loadConsole,
      onBuildError: (error) => log.error("console-not-built", { error: stackOf(error) }),
    }),
  };
  return {
    mounts: isConsoleOn ? [api, pages] : [api],
    setupPath: async () =>
      isConsoleOn && (await users.isEmpty()) ? `/console/setup#${setupToken.value}` : undefined,
    close: () => db.close(),
  };
}
