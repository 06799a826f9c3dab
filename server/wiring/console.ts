/** Wires the console: its files, its admin API, its users and their sessions. */
import type { ShownTarget } from "../../contract/admin.ts";
import { createAdminApi } from "../admin/admin-api.ts";
import type { AdminRoute } from "../admin/admin-route.ts";
import { createAudit } from "../admin/audit.ts";
import type { CapabilitiesOf } from "../admin/image-options.ts";
import { createPlayground, type PlaygroundOptions } from "../admin/playground.ts";
import { auditRoutes } from "../admin/routes/audit.ts";
import { keyRoutes } from "../admin/routes/keys.ts";
import { modelRoutes } from "../admin/routes/models.ts";
import { sessionRoutes } from "../admin/routes/session.ts";
import { settingsRoutes } from "../admin/routes/settings.ts";
import { userRoutes } from "../admin/routes/users.ts";
import { Passwords } from "../admin/sign-in/passwords.ts";
import { Sessions } from "../admin/sign-in/sessions.ts";
import { SetupToken } from "../admin/sign-in/setup-token.ts";
import { SignInThrottle } from "../admin/sign-in/sign-in-throttle.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { loadConsole } from "../console/load-console.ts";
import { createServeConsole } from "../console/serve-console.ts";
import { serveByFetch } from "../http/fetch-bridge.ts";
import type { Mount } from "../http/route.ts";
import type { Log } from "../observe/log.ts";
import { type Settings, settingsTable } from "../settings.ts";
import type { KeyStore } from "../storage/ports/key-store.ts";
import { SqliteAuditLog } from "../storage/sqlite/audit-log.ts";
import { openGatewayDatabase } from "../storage/sqlite/gateway-database.ts";
import { SqliteSessionStore } from "../storage/sqlite/session-store.ts";
import { SqliteUserStore } from "../storage/sqlite/user-store.ts";
import { stackOf } from "./crash-guard.ts";

export interface ConsoleOptions {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  readonly targets: () => readonly ShownTarget[];
  readonly keys: KeyStore;
  /** Applies key changes of the store now, instead of at the next poll. */
  readonly applyKeyChanges: () => Promise<void>;
  readonly capabilitiesOf: CapabilitiesOf;
  /** Serves requests of the playgrounds. */
  readonly serve: PlaygroundOptions["serve"];
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface ConsoleWiring {
  readonly mounts: readonly Mount[];
  /** The path of the one-time link, while no user exists. */
  setupPath(): Promise<string | undefined>;
  close(): void;
}

export function wireConsole(options: ConsoleOptions): ConsoleWiring {
  const { settings, snapshot, log, now } = options;
  const db = openGatewayDatabase(settings.VEXEL_DATA, now);
  const users = new SqliteUserStore(db);
  const auditLog = new SqliteAuditLog(db);
  const audit = createAudit(auditLog, now);
  const sessions = new Sessions({ sessions: new SqliteSessionStore(db), users, now });
  const passwords = new Passwords();
  const setupToken = new SetupToken();
  const throttle = new SignInThrottle(now);
  const routes: readonly AdminRoute[] = [
    ...sessionRoutes({ users, sessions, passwords, throttle, setupToken, audit, now }),
    ...userRoutes({ users, sessions, passwords, audit, now }),
    ...keyRoutes({ ...options, audit }),
    ...modelRoutes(options),
    ...auditRoutes(auditLog),
    ...settingsRoutes({ settings, table: settingsTable }),
  ];
  const authentication = { sessions, adminToken: settings.VEXEL_ADMIN_KEY };
  const api = createAdminApi({ routes, ...authentication });
  const serveConsole = createServeConsole({
    load: loadConsole,
    onBuildError: (error) => log.error("console-not-built", { error: stackOf(error) }),
  });
  return {
    mounts: [
      createPlayground({ snapshot, serve: options.serve, ...authentication }),
      {
        prefix: "/admin/api",
        handle: (incoming) =>
          serveByFetch(incoming, (request) => api.fetch(request, { incoming })).finally(() =>
            incoming.releaseBody(),
          ),
      },
      { prefix: "/console", handle: serveConsole },
    ],
    setupPath: async () =>
      (await users.isEmpty()) ? `/console/setup#${setupToken.value}` : undefined,
    close: () => db.close(),
  };
}
