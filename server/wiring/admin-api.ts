/** Wires the routes of the admin API. Imported at the first request for it. */
import type { ShownTarget } from "../../contract/admin.ts";
import { createAdminApi } from "../admin/admin-api.ts";
import type { AdminRoute } from "../admin/admin-route.ts";
import { createAudit } from "../admin/audit.ts";
import type { CapabilitiesOf } from "../admin/image-options.ts";
import { createPlayground, isPlaygroundPath, type PlaygroundOptions } from "../admin/playground.ts";
import { auditRoutes } from "../admin/routes/audit.ts";
import { eventRoutes } from "../admin/routes/events.ts";
import { type EstimateImages, imageEstimateRoutes } from "../admin/routes/image-estimates.ts";
import { keyRoutes } from "../admin/routes/keys.ts";
import { modelRoutes } from "../admin/routes/models.ts";
import { sessionRoutes } from "../admin/routes/session.ts";
import { settingsRoutes } from "../admin/routes/settings.ts";
import { targetRoutes } from "../admin/routes/targets.ts";
import { userRoutes } from "../admin/routes/users.ts";
import { webhookRoutes } from "../admin/routes/webhooks.ts";
import { Passwords } from "../admin/sign-in/passwords.ts";
import type { Sessions } from "../admin/sign-in/sessions.ts";
import type { SetupToken } from "../admin/sign-in/setup-token.ts";
import { SignInThrottle } from "../admin/sign-in/sign-in-throttle.ts";
import { estimateImages } from "../budgets/estimate-cost.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { EventViews } from "../events/show-events.ts";
import { serveByFetch } from "../http/fetch-bridge.ts";
import type { Mount } from "../http/route.ts";
import { type Settings, settingsTable } from "../settings.ts";
import type { AuditLog } from "../storage/ports/audit-log.ts";
import type { KeyStore } from "../storage/ports/key-store.ts";
import type { UserStore } from "../storage/ports/user-store.ts";
import { unrestrictedImages } from "../upstream/image-capabilities.ts";

export interface AdminApiWiringOptions {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  readonly targets: () => readonly ShownTarget[];
  readonly eventViews: EventViews;
  readonly keys: KeyStore;
  /** Applies key changes of the store now, instead of at the next poll. */
  readonly applyKeyChanges: () => Promise<void>;
  readonly capabilitiesOf: CapabilitiesOf;
  /** Serves requests of the playgrounds. */
  readonly serve: PlaygroundOptions["serve"];
  readonly users: UserStore;
  readonly auditLog: AuditLog;
  /** Undefined: the console is off, and only the admin token gives access. */
  readonly signIn: { readonly sessions: Sessions; readonly setupToken: SetupToken } | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export function createAdminApiHandler(options: AdminApiWiringOptions): Mount["handle"] {
  const { settings, snapshot, serve, signIn } = options;
  const authentication = { sessions: signIn?.sessions, adminToken: settings.VEXEL_ADMIN_TOKEN };
  const playground = createPlayground({ snapshot, serve, ...authentication });
  const api = createAdminApi({ routes: adminRoutes(options), ...authentication });
  return async (incoming) => {
    if (isPlaygroundPath(incoming.path)) return playground(incoming);
    try {
      return await serveByFetch(incoming, (request) => api.fetch(request, { incoming }));
    } finally {
      incoming.releaseBody();
    }
  };
}

function adminRoutes(options: AdminApiWiringOptions): readonly AdminRoute[] {
  const { settings, eventViews, users, auditLog, signIn, now, capabilitiesOf } = options;
  const audit = createAudit(auditLog, now);
  const estimate: EstimateImages = ({ targets, parameters }, operation, query) =>
    estimateImages({
      ...{ operation, query, targets, policy: parameters ?? "adapt" },
      capabilities: (...args) => capabilitiesOf(...args) ?? unrestrictedImages,
    });
  return [
    ...(signIn ? signInRoutes({ users, audit, now, ...signIn }) : []),
    ...keyRoutes({ ...options, audit }),
    ...modelRoutes(options),
    ...imageEstimateRoutes({ ...options, estimate }),
    ...targetRoutes(options),
    ...eventRoutes({ events: eventViews }),
    ...webhookRoutes({ webhooks: eventViews }),
    ...auditRoutes(auditLog),
    ...settingsRoutes({ settings, table: settingsTable }),
  ];
}

/** Users and their sessions. */
function signInRoutes(
  options: NonNullable<AdminApiWiringOptions["signIn"]> &
    Pick<AdminApiWiringOptions, "users" | "now"> & {
      readonly audit: ReturnType<typeof createAudit>;
    },
): readonly AdminRoute[] {
  const passwords = new Passwords();
  const throttle = new SignInThrottle(options.now);
  return [
    ...sessionRoutes({ ...options, passwords, throttle }),
    ...userRoutes({ ...options, passwords }),
  ];
}
