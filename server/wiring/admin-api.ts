/** Wires the routes of the admin API. Imported at the first request for it. */
import { version } from "../../package.json";
import { createAdminApi } from "../admin/admin-api.ts";
import type { AdminDependencies, SignInDependencies } from "../admin/admin-dependencies.ts";
import { type AdminRoute, adminApiDocument } from "../admin/admin-route.ts";
import { createAudit } from "../admin/audit.ts";
import {
  createPlayground,
  isPlaygroundPath,
  type PlaygroundOptions,
  playgroundOperations,
} from "../admin/playground.ts";
import { createKeyNames } from "../admin/reads/key-names.ts";
import { readableQueries } from "../admin/reads/readable-queries.ts";
import { auditRoutes } from "../admin/routes/audit.ts";
import { budgetRoutes } from "../admin/routes/budgets.ts";
import { connectionTestRoutes } from "../admin/routes/connection-tests.ts";
import { eventRoutes } from "../admin/routes/events.ts";
import { imageEstimateRoutes } from "../admin/routes/image-estimates.ts";
import { keyRoutes } from "../admin/routes/keys.ts";
import { modelAccessRoutes } from "../admin/routes/model-access.ts";
import { modelRoutes } from "../admin/routes/models.ts";
import { oidcRoutes } from "../admin/routes/oidc.ts";
import { openapiRoutes } from "../admin/routes/openapi.ts";
import { overviewRoutes } from "../admin/routes/overview.ts";
import { projectRoutes } from "../admin/routes/projects.ts";
import { requestRoutes } from "../admin/routes/requests.ts";
import { sessionRoutes } from "../admin/routes/session.ts";
import { settingsRoutes } from "../admin/routes/settings.ts";
import { statisticsRoutes } from "../admin/routes/statistics.ts";
import { targetRoutes } from "../admin/routes/targets.ts";
import { upstreamRoutes } from "../admin/routes/upstreams.ts";
import { usageRoutes } from "../admin/routes/usage.ts";
import { userRoutes } from "../admin/routes/users.ts";
import { webhookRoutes } from "../admin/routes/webhooks.ts";
import { OidcClient } from "../admin/sign-in/oidc/oidc-client.ts";
import type { OidcSettings } from "../admin/sign-in/oidc/oidc-settings.ts";
import { type HashCost, Passwords } from "../admin/sign-in/passwords.ts";
import { SignInThrottle } from "../admin/sign-in/sign-in-throttle.ts";
import { unknownUrl } from "../http/dispatch.ts";
import { serveByFetch } from "../http/fetch-bridge.ts";
import type { Mount } from "../http/route.ts";
import { secretSettings, settingsTable } from "../settings.ts";
import type { AuditLog } from "../storage/ports/audit-log.ts";
import { createImageEstimates } from "./image-estimates.ts";
import type { Runtime } from "./runtime.ts";

interface SignInOptions extends Pick<SignInDependencies, "sessions" | "setupToken"> {
  /** Undefined: there is no sign-in with OpenID Connect. */
  readonly oidcSettings: OidcSettings | undefined;
}

export interface AdminApiWiringOptions extends Omit<AdminDependencies, "audit" | "keyNames"> {
  readonly auditLog: AuditLog;
  /** Serves requests of the playgrounds. */
  readonly serve: PlaygroundOptions["serve"];
  /** The cost of a password hash. Undefined: the cost in production. */
  readonly passwordCost: HashCost | undefined;
  /** Undefined: the console is off, and only the admin token gives access. */
  readonly signIn: SignInOptions | undefined;
}

export function createAdminApiHandler(
  runtime: Runtime,
  options: AdminApiWiringOptions,
): Mount["handle"] {
  const { settings } = runtime;
  const { snapshot, serve, signIn } = options;
  const audit = createAudit(options.auditLog, options.now);
  const throttle = new SignInThrottle({ now: options.now });
  const authentication = {
    sessions: signIn?.sessions,
    adminToken: settings.VEXEL_ADMIN_TOKEN,
    throttle,
    audit,
  };
  const playground = createPlayground({ snapshot, serve, ...authentication });
  const routes = adminRoutes(runtime, { ...options, audit, throttle });
  const serverUrl = settings.VEXEL_PUBLIC_URL;
  const operations = [...routes, ...playgroundOperations];
  const api = createAdminApi({
    routes: [...routes, ...openapiRoutes({ operations, serverUrl, version })],
    ...authentication,
  });
  return async (incoming) => {
    const { method, path } = incoming;
    // The router decodes the path. A proxy may have a rule for a path, and not for its other spellings.
    if (encodedLetter.test(path)) throw unknownUrl(method, path, adminApiDocument);
    if (isPlaygroundPath(path)) return playground(incoming);
    const { clientAddress: address } = incoming;
    try {
      return await serveByFetch(incoming, async (request) =>
        api.fetch(request, { incoming, address }),
      );
    } finally {
      incoming.releaseBody();
    }
  };
}

/** A percent-encoded ASCII letter or digit, which no client needs to encode. */
const encodedLetter = /%(?:3\d|[46][1-9a-f]|[57][0-9a])/i;

type RouteOptions = AdminApiWiringOptions & Pick<SignInDependencies, "audit" | "throttle">;

function adminRoutes(runtime: Runtime, options: RouteOptions): readonly AdminRoute[] {
  const { snapshot, users, keys, now, auditLog, signIn, capabilitiesOf } = options;
  const dependencies: AdminDependencies = {
    ...options,
    queries: readableQueries(options.queries),
    keyNames: createKeyNames(snapshot, users, keys, now),
  };
  return [
    ...(signIn ? signInRoutes(runtime, { ...options, ...dependencies, ...signIn }) : []),
    ...keyRoutes(dependencies),
    ...modelAccessRoutes(dependencies),
    ...imageEstimateRoutes({ snapshot, estimate: createImageEstimates(capabilitiesOf) }),
    ...modelRoutes(dependencies),
    ...upstreamRoutes(dependencies),
    ...connectionTestRoutes(dependencies),
    ...projectRoutes(dependencies),
    ...targetRoutes(dependencies),
    ...webhookRoutes(dependencies),
    ...overviewRoutes(dependencies),
    ...requestRoutes(dependencies),
    ...usageRoutes(dependencies),
    ...budgetRoutes(dependencies),
    ...statisticsRoutes(dependencies),
    ...eventRoutes(dependencies),
    ...auditRoutes(auditLog),
    ...settingsRoutes({
      settings: runtime.settings,
      table: settingsTable,
      secrets: secretSettings,
    }),
  ];
}

/** Users and their sessions. */
function signInRoutes(
  { log }: Runtime,
  options: AdminDependencies & SignInOptions & Pick<RouteOptions, "passwordCost" | "throttle">,
): readonly AdminRoute[] {
  const { oidcSettings: settings } = options;
  const onFailure = (reason: string) => log.warn("oidc-sign-in-failed", { reason });
  const oidc = settings && { settings, client: new OidcClient(settings), onFailure };
  const dependencies: SignInDependencies = {
    ...options,
    passwords: new Passwords(options.passwordCost),
    oidc,
  };
  return [
    ...sessionRoutes(dependencies),
    ...(oidc ? oidcRoutes(dependencies, oidc) : []),
    ...userRoutes(dependencies),
  ];
}
