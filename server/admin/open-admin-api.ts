/** The admin API with all its routes. Imported at the first request for it. */

import { unknownUrl } from "../http/dispatch.ts";
import { serveByFetch } from "../http/fetch-bridge.ts";
import type { Mount } from "../http/route.ts";
import type { Log } from "../lib/log.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type { AuditLog } from "../storage/sql/audit-log.ts";
import { createAdminApi } from "./admin-api.ts";
import type { AdminDependencies, SignInDependencies } from "./admin-dependencies.ts";
import { type AdminRoute, adminApiDocument } from "./admin-route.ts";
import { createAudit } from "./audit.ts";
import {
  createPlayground,
  isPlaygroundPath,
  type PlaygroundOptions,
  playgroundOperations,
} from "./playground.ts";
import { createKeyNames } from "./reads/key-names.ts";
import { readableQueries } from "./reads/readable-queries.ts";
import { accountRoutes } from "./routes/account.ts";
import { accountTokenRoutes } from "./routes/account-tokens.ts";
import { alertRoutes } from "./routes/alerts.ts";
import { auditRoutes } from "./routes/audit.ts";
import { budgetRoutes } from "./routes/budgets.ts";
import { connectionTestRoutes } from "./routes/connection-tests.ts";
import { eventRoutes } from "./routes/events.ts";
import { type EstimateImages, imageEstimateRoutes } from "./routes/image-estimates.ts";
import { inviteRoutes } from "./routes/invites.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { keyUseRoutes } from "./routes/key-use.ts";
import { keyRoutes } from "./routes/keys.ts";
import { listedPriceRoutes } from "./routes/listed-prices.ts";
import { modelAccessRoutes } from "./routes/model-access.ts";
import { modelRoutes } from "./routes/models.ts";
import { oidcRoutes } from "./routes/oidc.ts";
import { oidcStatusRoutes } from "./routes/oidc-status.ts";
import { openapiRoutes } from "./routes/openapi.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { projectRoutes } from "./routes/projects.ts";
import { replicaRoutes } from "./routes/replicas.ts";
import { requestRoutes } from "./routes/requests.ts";
import { sessionRoutes } from "./routes/session.ts";
import { type SettingsRoutesOptions, settingsRoutes } from "./routes/settings.ts";
import { statementRoutes } from "./routes/statements.ts";
import { statisticsRoutes } from "./routes/statistics.ts";
import { targetRoutes } from "./routes/targets.ts";
import { upstreamRoutes } from "./routes/upstreams.ts";
import { usageRoutes } from "./routes/usage.ts";
import { userKeyRoutes } from "./routes/user-keys.ts";
import { userRoutes } from "./routes/users.ts";
import { webhookRoutes } from "./routes/webhooks.ts";
import { OidcClient } from "./sign-in/oidc/oidc-client.ts";
import type { OidcSettings } from "./sign-in/oidc/oidc-settings.ts";
import { createOidcTests } from "./sign-in/oidc/oidc-tests.ts";
import { type HashCost, Passwords } from "./sign-in/passwords.ts";
import { createSecondFactor } from "./sign-in/second-factor.ts";
import { SignInThrottle } from "./sign-in/sign-in-throttle.ts";

interface SignInOptions
  extends Pick<
    SignInDependencies,
    "sessions" | "tokens" | "setupToken" | "mayLinkTo" | "sendMessage"
  > {
  /** Encrypts the secrets of second factors. */
  readonly secrets: SecretBox;
  /** Undefined if there is no sign-in with OpenID Connect. */
  readonly oidcSettings: OidcSettings | undefined;
}

export interface OpenAdminApiOptions extends Omit<AdminDependencies, "audit" | "keyNames"> {
  /** Empty: there is none. */
  readonly adminToken: string;
  /** For the OpenAPI document. */
  readonly publicUrl: string;
  readonly version: string;
  /** The settings that administrators see. */
  readonly settings: SettingsRoutesOptions;
  readonly estimateImages: EstimateImages;
  readonly log: Pick<Log, "warn">;
  readonly auditLog: AuditLog;
  /** Serves requests of the playgrounds. */
  readonly serve: PlaygroundOptions["serve"];
  /** The cost of a password hash. The default is the cost in production. */
  readonly passwordCost: HashCost | undefined;
  /** Undefined if the console is off, and only the admin token gives access. */
  readonly signIn: SignInOptions | undefined;
}

export function openAdminApi(options: OpenAdminApiOptions): Mount["handle"] {
  const { snapshot, serve, signIn, adminToken, publicUrl, version } = options;
  const audit = createAudit(options.auditLog, options.now);
  const throttle = new SignInThrottle({ now: options.now });
  const authentication = {
    sessions: signIn?.sessions,
    tokens: signIn?.tokens,
    adminToken,
    throttle,
    audit,
  };
  const playground = createPlayground({ snapshot, serve, ...authentication });
  const routes = adminRoutes({ ...options, audit, throttle });
  const operations = [...routes, ...playgroundOperations];
  const api = createAdminApi({
    routes: [...routes, ...openapiRoutes({ operations, serverUrl: publicUrl, version })],
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

type RouteOptions = OpenAdminApiOptions & Pick<SignInDependencies, "audit" | "throttle">;

function adminRoutes(options: RouteOptions): readonly AdminRoute[] {
  const { snapshot, users, keys, now, auditLog, signIn } = options;
  const dependencies: AdminDependencies = {
    ...options,
    queries: readableQueries(options.queries),
    keyNames: createKeyNames(snapshot, users, keys, now),
  };
  return [
    ...(signIn ? signInRoutes({ ...options, ...dependencies, ...signIn }) : []),
    ...(signIn ? userKeyRoutes(dependencies) : []),
    ...keyRoutes(dependencies),
    ...keyUseRoutes(dependencies),
    ...modelAccessRoutes(dependencies),
    ...imageEstimateRoutes({ snapshot, estimate: options.estimateImages }),
    ...modelRoutes(dependencies),
    ...listedPriceRoutes(snapshot),
    ...upstreamRoutes(dependencies),
    ...connectionTestRoutes(dependencies),
    ...projectRoutes(dependencies),
    ...targetRoutes(dependencies),
    ...webhookRoutes(dependencies),
    ...alertRoutes(dependencies),
    ...overviewRoutes(dependencies),
    ...requestRoutes(dependencies),
    ...jobRoutes(dependencies),
    ...usageRoutes(dependencies),
    ...statementRoutes(dependencies),
    ...budgetRoutes(dependencies),
    ...statisticsRoutes(dependencies),
    ...replicaRoutes(dependencies),
    ...eventRoutes(dependencies),
    ...auditRoutes(auditLog),
    ...settingsRoutes(options.settings),
  ];
}

/** Users and their sessions. */
function signInRoutes(
  options: AdminDependencies &
    SignInOptions &
    Pick<RouteOptions, "passwordCost" | "throttle" | "log">,
): readonly AdminRoute[] {
  const { oidcSettings: settings } = options;
  const onFailure = (reason: string) => options.log.warn("oidc-sign-in-failed", { reason });
  const oidc = settings && {
    settings,
    client: new OidcClient(settings),
    tests: createOidcTests({ ...options, settings }),
    onFailure,
  };
  const dependencies: SignInDependencies = {
    ...options,
    passwords: new Passwords(options.passwordCost),
    secondFactor: createSecondFactor(options),
    oidc,
  };
  return [
    ...sessionRoutes(dependencies),
    ...accountRoutes(dependencies),
    ...accountTokenRoutes(dependencies),
    ...inviteRoutes(dependencies),
    ...(oidc ? oidcRoutes(dependencies, oidc) : []),
    ...oidcStatusRoutes(oidc),
    ...userRoutes(dependencies),
  ];
}
