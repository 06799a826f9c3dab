/** Wires the routes of the admin API. Imported at the first request for it. */

import type { ShownTarget } from "../../contract/admin.ts";
import { version } from "../../package.json";
import { createAdminApi } from "../admin/admin-api.ts";
import type { AdminRoute } from "../admin/admin-route.ts";
import { type Audit, createAudit } from "../admin/audit.ts";
import { createClientAddress } from "../admin/client-address.ts";
import type { ImageCapabilitiesOf } from "../admin/image-options.ts";
import {
  createPlayground,
  isPlaygroundPath,
  type PlaygroundOptions,
  playgroundOperations,
} from "../admin/playground.ts";
import { auditRoutes } from "../admin/routes/audit.ts";
import {
  type ConnectionTestRoutesOptions,
  connectionTestRoutes,
} from "../admin/routes/connection-tests.ts";
import { eventRoutes } from "../admin/routes/events.ts";
import { imageEstimateRoutes } from "../admin/routes/image-estimates.ts";
import { keyRoutes } from "../admin/routes/keys.ts";
import { modelAccessRoutes } from "../admin/routes/model-access.ts";
import { modelRoutes } from "../admin/routes/models.ts";
import { oidcRoutes } from "../admin/routes/oidc.ts";
import { openapiRoutes } from "../admin/routes/openapi.ts";
import { projectRoutes } from "../admin/routes/projects.ts";
import { sessionRoutes } from "../admin/routes/session.ts";
import { settingsRoutes } from "../admin/routes/settings.ts";
import { targetRoutes } from "../admin/routes/targets.ts";
import { upstreamRoutes } from "../admin/routes/upstreams.ts";
import { userRoutes } from "../admin/routes/users.ts";
import { webhookRoutes } from "../admin/routes/webhooks.ts";
import { OidcClient } from "../admin/sign-in/oidc/oidc-client.ts";
import type { OidcSettings } from "../admin/sign-in/oidc/oidc-settings.ts";
import { type HashCost, Passwords } from "../admin/sign-in/passwords.ts";
import type { Sessions } from "../admin/sign-in/sessions.ts";
import type { SetupToken } from "../admin/sign-in/setup-token.ts";
import { SignInThrottle } from "../admin/sign-in/sign-in-throttle.ts";
import type { ConfigEntities } from "../config/entities/config-entities.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { EventViews } from "../events/show-events.ts";
import { serveByFetch } from "../http/fetch-bridge.ts";
import type { Mount } from "../http/route.ts";
import type { Log } from "../observe/log.ts";
import { type Settings, secretSettings, settingsTable } from "../settings.ts";
import type { AuditLog } from "../storage/ports/audit-log.ts";
import type { KeyStore } from "../storage/ports/key-store.ts";
import type { UserStore } from "../storage/ports/user-store.ts";
import { type ReadSources, readRoutes } from "./admin-reads.ts";
import { createImageEstimates } from "./image-estimates.ts";

interface SignInOptions {
  readonly sessions: Sessions;
  readonly setupToken: SetupToken;
  /** Undefined: there is no sign-in with OpenID Connect. */
  readonly oidcSettings: OidcSettings | undefined;
}

export interface AdminApiWiringOptions {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  readonly targets: () => Promise<readonly ShownTarget[]>;
  readonly eventViews: EventViews;
  /** What the overview, requests, usage and budgets are read from. */
  readonly sources: ReadSources;
  readonly keys: KeyStore;
  /** Applies key changes of the store now, instead of at the next poll. */
  readonly applyKeyChanges: () => Promise<void>;
  readonly entities: ConfigEntities;
  /** Publishes changes of stored entities now, instead of at the next poll. */
  readonly applyEntityChanges: () => Promise<void>;
  readonly connectionTests: Pick<ConnectionTestRoutesOptions, "testConnection" | "sendTestRequest">;
  readonly capabilitiesOf: ImageCapabilitiesOf;
  /** Serves requests of the playgrounds. */
  readonly serve: PlaygroundOptions["serve"];
  readonly users: UserStore;
  readonly auditLog: AuditLog;
  readonly log: Log;
  /** The cost of a password hash. Absent: the cost in production. */
  readonly passwordCost?: HashCost | undefined;
  /** Undefined: the console is off, and only the admin token gives access. */
  readonly signIn: SignInOptions | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export function createAdminApiHandler(options: AdminApiWiringOptions): Mount["handle"] {
  const { settings, snapshot, serve, signIn } = options;
  const authentication = { sessions: signIn?.sessions, adminToken: settings.VEXEL_ADMIN_TOKEN };
  const playground = createPlayground({ snapshot, serve, ...authentication });
  const routes = adminRoutes(options);
  const operations = [...routes, ...playgroundOperations];
  const api = createAdminApi({
    routes: [...routes, ...openapiRoutes({ operations, version })],
    ...authentication,
  });
  const clientAddress = createClientAddress(settings.VEXEL_TRUSTED_PROXIES);
  return async (incoming) => {
    if (isPlaygroundPath(incoming.path)) return playground(incoming);
    const address = clientAddress(incoming);
    try {
      return await serveByFetch(incoming, async (request) =>
        api.fetch(request, { incoming, address }),
      );
    } finally {
      incoming.releaseBody();
    }
  };
}

function adminRoutes(options: AdminApiWiringOptions): readonly AdminRoute[] {
  const { settings, eventViews, auditLog, signIn, now, capabilitiesOf } = options;
  const audit = createAudit(auditLog, now);
  return [
    ...(signIn ? signInRoutes({ ...options, audit, ...signIn }) : []),
    ...keyRoutes({ ...options, audit }),
    ...modelAccessRoutes(options),
    ...imageEstimateRoutes({ ...options, estimate: createImageEstimates(capabilitiesOf) }),
    ...modelRoutes({ ...options, audit }),
    ...upstreamRoutes({ ...options, audit }),
    ...connectionTestRoutes({ ...options, ...options.connectionTests, audit }),
    ...projectRoutes({ ...options, audit }),
    ...targetRoutes(options),
    ...webhookRoutes({ ...options, audit, webhooks: eventViews }),
    ...readRoutes(options),
    ...eventRoutes({ events: eventViews, audit }),
    ...auditRoutes(auditLog),
    ...settingsRoutes({ settings, table: settingsTable, secrets: secretSettings }),
  ];
}

interface SignInRoutesOptions
  extends SignInOptions,
    Pick<AdminApiWiringOptions, "snapshot" | "users" | "log" | "now" | "passwordCost"> {
  readonly audit: Audit;
}

/** Users and their sessions. */
function signInRoutes({
  oidcSettings,
  log,
  ...options
}: SignInRoutesOptions): readonly AdminRoute[] {
  const passwords = new Passwords(options.passwordCost);
  const throttle = new SignInThrottle(options.now);
  const client = oidcSettings && new OidcClient(oidcSettings);
  const oidc = client && { name: oidcSettings.name, client };
  const onFailure = (reason: string) => log.warn("oidc-sign-in-failed", { reason });
  return [
    ...sessionRoutes({ ...options, passwords, throttle, oidc }),
    ...(client
      ? oidcRoutes({ ...options, throttle, settings: oidcSettings, client, onFailure })
      : []),
    ...userRoutes({ ...options, passwords }),
  ];
}
