/** The parts of the gateway that the routes of the admin API read and change. */
import type { Batches } from "../batches/batches.ts";
import type { createEstimateBatch } from "../batches/estimate-batch.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { ConfigEntities } from "../config/entities/config-entities.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { Alerts } from "../events/alerts/evaluate-alerts.ts";
import type { SendMessage } from "../events/formats/send-mail.ts";
import type { EventViews } from "../events/show-events.ts";
import type { ClientFiles, StoredFile } from "../files/client-files.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Admission } from "../limits/admission.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import type { ExpiringContent } from "../storage/ports/content-store.ts";
import type { LedgerQueries } from "../storage/ports/ledger-queries.ts";
import type { KeyStore } from "../storage/sql/key-store.ts";
import type { StatementStore } from "../storage/sql/statement-store.ts";
import type { UserStore } from "../storage/sql/user-store.ts";
import type { ConnectionTests } from "../upstream/connection-test/connection-tests.ts";
import type { Audit } from "./audit.ts";
import type { ImageCapabilitiesOf } from "./image-options.ts";
import type { KeyNames } from "./reads/key-names.ts";
import type { LiveTail } from "./reads/live-tail.ts";
import type { ReplicaReports } from "./reads/replica-reports.ts";
import type { OidcClient } from "./sign-in/oidc/oidc-client.ts";
import type { OidcSettings } from "./sign-in/oidc/oidc-settings.ts";
import type { OidcTests } from "./sign-in/oidc/oidc-tests.ts";
import type { Passwords } from "./sign-in/passwords.ts";
import type { SecondFactor } from "./sign-in/second-factor.ts";
import type { Sessions } from "./sign-in/sessions.ts";
import type { SetupToken } from "./sign-in/setup-token.ts";
import type { SignInThrottle } from "./sign-in/sign-in-throttle.ts";
import type { UserTokens } from "./sign-in/user-tokens.ts";

/** Why a file was not applied. Undefined if the file is in force. */
type FileProblems = Readonly<Record<"vexel.yaml" | "TLS certificate", string | undefined>>;

export interface ClientJobs {
  readonly jobs: Pick<Jobs, "findById" | "listAll" | "cancel" | "pause" | "result">;
  readonly batches: Pick<Batches, "create">;
  readonly estimateBatch: ReturnType<typeof createEstimateBatch>;
  readonly files: Pick<ClientFiles, "find" | "content" | "remove">;
  /** Stores the file of a form. */
  readonly receive: (
    incoming: Pick<IncomingRequest, "headers" | "parts">,
    owner: string,
  ) => Promise<StoredFile>;
}

export interface AdminDependencies extends ConnectionTests, ReplicaReports {
  readonly snapshot: () => Snapshot;
  readonly fileProblems: () => FileProblems;
  readonly eventViews: EventViews;
  readonly alerts: Pick<Alerts, "list" | "silences" | "silence" | "endSilence">;
  readonly keys: KeyStore;
  readonly keyNames: KeyNames;
  /** The end user as in the ledger, of a name as the client sent it. */
  readonly endUserOf: (given: string) => string;
  /** Applies key changes of the store to the snapshot now, instead of at the next poll. */
  readonly applyKeyChanges: () => Promise<void>;
  readonly entities: ConfigEntities;
  /** Publishes changes of stored entities as a new config snapshot now, instead of at the next poll. */
  readonly applyEntityChanges: () => Promise<void>;
  readonly users: UserStore;
  readonly audit: Audit;
  readonly queries: Pick<LedgerQueries, "list" | "usage">;
  readonly statements: StatementStore;
  readonly ledger: { readonly writable: boolean };
  readonly live: Pick<LiveTail, "open">;
  /** The stored content of requests, for models with `storeContent`. */
  readonly content: {
    find(model: string, requestId: string): Promise<ExpiringContent | undefined>;
    delete(model: string, requestId: string): Promise<void>;
  };
  readonly budgets: Budgets;
  /** Undefined if there is no storage for jobs. */
  readonly clientJobs: ClientJobs | undefined;
  readonly admission: Pick<Admission, "shownScope">;
  readonly capabilitiesOf: ImageCapabilitiesOf;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** For the routes of users and their sessions, which exist while the console is on. */
export interface SignInDependencies extends Pick<AdminDependencies, "users" | "audit" | "now"> {
  readonly snapshot: () => Pick<Snapshot, "projects">;
  readonly sessions: Sessions;
  readonly tokens: UserTokens;
  readonly secondFactor: SecondFactor;
  readonly passwords: Pick<Passwords, "hash" | "verify">;
  readonly throttle: SignInThrottle;
  readonly setupToken: SetupToken;
  /** Whether a one-time link may lead to this `host` header. */
  readonly mayLinkTo: (host: string | null) => boolean;
  /** Undefined if there is no mail server. */
  readonly sendMessage: SendMessage | undefined;
  /** Undefined if there is no sign-in with OpenID Connect. */
  readonly oidc: Oidc | undefined;
}

export interface Oidc {
  readonly settings: OidcSettings;
  readonly client: OidcClient;
  readonly tests: OidcTests;
  /** Why a sign-in failed, for the log. The browser gets no details. */
  readonly onFailure: (reason: string) => void;
}
