/** Constructs the admin API, its users and their sessions, and the console. */
import { version } from "../../package.json";
import { createCheckHost, createMayLinkTo } from "../admin/allowed-hosts.ts";
import { startAuditRetention } from "../admin/audit-retention.ts";
import type { OpenAdminApiOptions } from "../admin/open-admin-api.ts";
import { responseHeaders } from "../admin/response-headers.ts";
import { settingGroups } from "../admin/setting-groups.ts";
import { readOidcSettings } from "../admin/sign-in/oidc/oidc-settings.ts";
import { Sessions } from "../admin/sign-in/sessions.ts";
import { createSetupToken } from "../admin/sign-in/setup-token.ts";
import { UserTokens } from "../admin/sign-in/user-tokens.ts";
import { loadConsole } from "../console/load-console.ts";
import { createServeConsole, pageHeaders } from "../console/serve-console.ts";
import { createSendMessage } from "../events/formats/send-mail.ts";
import type { Mount } from "../http/route.ts";
import { errorStack } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { type Settings, secretSettings, settingsTable } from "../settings.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import { createAdminTokenStore } from "../storage/sql/admin-token-store.ts";
import { createAuditLog } from "../storage/sql/audit-log.ts";
import { createSessionStore } from "../storage/sql/session-store.ts";
import { createStatementStore } from "../storage/sql/statement-store.ts";
import { createUserStore, type UserStore } from "../storage/sql/user-store.ts";
import { openGatewayDatabase } from "../storage/sqlite/gateway-database.ts";
import type { Runtime } from "./runtime.ts";

type OwnOptions =
  | "users"
  | "auditLog"
  | "statements"
  | "signIn"
  | "adminToken"
  | "publicUrl"
  | "version";

export interface AdminOptions
  extends Omit<OpenAdminApiOptions, keyof Runtime | OwnOptions | "estimateImages"> {
  /** The stores that replicas share. The default is `vexel.db` in the data folder. */
  readonly shared:
    | Pick<SharedStorage, "users" | "sessions" | "adminTokens" | "audit" | "statements">
    | undefined;
}

export function wireAdmin(runtime: Runtime, options: AdminOptions) {
  const { settings, log, now, resources, secrets } = runtime;
  const { shared } = options;
  const isConsoleOn = settings.VEXEL_CONSOLE === "on";
  const stores = shared ?? openStores(runtime);
  const { users, audit: auditLog, statements } = stores;
  const stopRetention = startAuditRetention({
    auditLog,
    days: settings.VEXEL_AUDIT_DAYS,
    now,
    onError: (error) => log.debug("audit-not-pruned", { reason: String(error) }),
  });
  resources.defer(() => void stopRetention());
  const setupToken = createSetupToken(secrets);
  const sessions = new Sessions({ sessions: stores.sessions, users, now });
  const tokens = new UserTokens({ store: stores.adminTokens, users, now });
  const oidcSettings = readOidcSettings(settings);
  const hosts = {
    hosts: settings.VEXEL_CONSOLE_HOSTS,
    publicUrl: settings.VEXEL_PUBLIC_URL,
  };
  const mayLinkTo = createMayLinkTo(hosts);
  const { VEXEL_SMTP_URL: smtpUrl, VEXEL_SMTP_FROM: from } = settings;
  const sendMessage = smtpUrl === "" ? undefined : createSendMessage({ smtpUrl, from });
  const signIn = isConsoleOn
    ? { sessions, tokens, secrets, setupToken, mayLinkTo, oidcSettings, sendMessage }
    : undefined;
  // Loaded on demand: without requests for the admin API, its framework takes no time and no memory.
  const load = async (): Promise<Mount["handle"]> => {
    const { openAdminApi } = await import("../admin/open-admin-api.ts");
    const { createImageEstimates } = await import("../api/image-estimates.ts");
    return openAdminApi({
      ...runtime,
      ...options,
      adminToken: settings.VEXEL_ADMIN_TOKEN,
      publicUrl: settings.VEXEL_PUBLIC_URL,
      version,
      settings: {
        settings,
        table: settingsTable,
        groups: settingGroups satisfies Record<keyof Settings, string>,
        secrets: secretSettings,
      },
      estimateImages: createImageEstimates(options.capabilitiesOf),
      users,
      auditLog,
      statements,
      signIn,
    });
  };
  const checkHost = createCheckHost({ ...hosts, adminToken: settings.VEXEL_ADMIN_TOKEN });
  let loading: ReturnType<typeof load> | undefined;
  const api: Mount = {
    name: "admin",
    prefix: "/admin/api",
    headers: responseHeaders,
    handle: async (incoming) => {
      checkHost(incoming);
      loading ??= load();
      return (await loading)(incoming);
    },
  };
  const serveConsole = createServeConsole({
    load: loadConsole,
    onBuildError: (error) => log.error("console-not-built", { error: errorStack(error) }),
  });
  const pages: Mount = {
    name: "console",
    prefix: "/console",
    headers: pageHeaders,
    handle: async (incoming) => {
      checkHost(incoming);
      return serveConsole(incoming);
    },
  };
  return {
    mounts: isConsoleOn ? [api, pages] : [api],
    /** The path of the console, or of its one-time link while it has no user. Undefined if the console is off. */
    consolePath: async () => {
      if (!isConsoleOn) return undefined;
      return (await isEmpty(users)) ? setupToken.path : "/console";
    },
  };
}

function openStores({ settings, now, resources }: Runtime) {
  const db = openGatewayDatabase(settings.VEXEL_DATA, now);
  resources.defer(() => db.close());
  return {
    users: createUserStore(db),
    sessions: createSessionStore(db),
    adminTokens: createAdminTokenStore(db),
    audit: createAuditLog(db),
    statements: createStatementStore(db),
  };
}

/** While the database is unreachable, the first administrator cannot be created. */
async function isEmpty(users: UserStore): Promise<boolean> {
  try {
    return await users.isEmpty();
  } catch (error) {
    if (error instanceof GatewayError && error.kind === "storage_unavailable") return false;
    throw error;
  }
}
