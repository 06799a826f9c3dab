/** /session/oidc: sign-in with OpenID Connect. The browser goes to the issuer and comes back with a code. */
import { z } from "zod";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { UserStore } from "../../storage/ports/user-store.ts";
import { type AdminApiContext, type AdminRoute, addressOf } from "../admin-route.ts";
import type { Audit } from "../audit.ts";
import { setPendingSignIn, takePendingSignIn } from "../cookies.ts";
import { accessOf } from "../sign-in/oidc/oidc-access.ts";
import type { OidcClient, OidcIdentity } from "../sign-in/oidc/oidc-client.ts";
import type { OidcSettings } from "../sign-in/oidc/oidc-settings.ts";
import { type OidcUser, oidcUser } from "../sign-in/oidc/oidc-users.ts";
import type { Sessions } from "../sign-in/sessions.ts";
import type { SignInThrottle } from "../sign-in/sign-in-throttle.ts";
import { startSession } from "../sign-in/start-session.ts";
import { shownUser } from "./users.ts";

export interface OidcRoutesOptions {
  readonly users: UserStore;
  readonly sessions: Sessions;
  readonly throttle: SignInThrottle;
  readonly audit: Audit;
  readonly settings: OidcSettings;
  readonly client: OidcClient;
  /** Why a sign-in failed, for the log. The browser gets no details. */
  readonly onFailure: (reason: string) => void;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const callbackPath = "/session/oidc/callback";
/** Each sign-in holds a connection to the issuer. */
const maxConcurrent = 20;

const callbackQuery = z.object({
  code: z.string().optional().describe("The authorization code of the issuer."),
  state: z.string().optional().describe("The state of the sign-in."),
  iss: z.string().optional().describe("The issuer."),
  error: z.string().optional().describe("Why the issuer refuses the sign-in."),
});

type SignInFailure = "expired" | "failed" | "refused";

export function oidcRoutes(options: OidcRoutesOptions): readonly AdminRoute[] {
  const { throttle, audit, client, settings, onFailure } = options;
  let concurrent = 0;

  const limited = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (concurrent >= maxConcurrent) {
      throw new GatewayError("overloaded", "Too many sign-ins at the same time. Try again soon.", {
        retryAfterMs: 5_000,
      });
    }
    concurrent++;
    try {
      return await work();
    } finally {
      concurrent--;
    }
  };

  const start = async (context: AdminApiContext): Promise<Response> => {
    try {
      const { url, pending } = await limited(() =>
        client.start(`${context.env.incoming.publicUrl}/admin/api${callbackPath}`),
      );
      setPendingSignIn(context, pending);
      return context.redirect(url, 303);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      return fail(context, "failed", messageOf(error));
    }
  };

  const finish = async (context: AdminApiContext): Promise<Response> => {
    const address = addressOf(context);
    throttle.check({ address });
    const pending = takePendingSignIn(context);
    if (!pending) return fail(context, "expired", "the cookie of the sign-in is missing");
    const { publicUrl, search } = context.env.incoming;
    let identity: OidcIdentity;
    try {
      const callback = new URL(`${publicUrl}/admin/api${callbackPath}${search}`);
      identity = await limited(() => client.finish(callback, pending));
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      throttle.fail({ address });
      return fail(context, "failed", messageOf(error));
    }
    const access = accessOf(identity.claims, settings);
    if (typeof access === "string") return refuse(context, identity, access);
    const found = await oidcUser(identity.subject, access, options);
    if (typeof found === "string") return refuse(context, identity, found);
    await recordChange(context, found);
    await startSession(context, found.user, options);
    return context.redirect("/console/", 303);
  };

  const recordChange = async (
    context: AdminApiContext,
    { user, change, before }: OidcUser,
  ): Promise<void> => {
    if (change === "none") return;
    await audit.record({
      actor: user.name,
      action: `user.${change}`,
      subject: user.name,
      before: before && shownUser(before),
      after: shownUser(user),
      address: addressOf(context),
    });
  };

  const refuse = async (
    context: AdminApiContext,
    { subject, claims }: OidcIdentity,
    reason: string,
  ): Promise<Response> => {
    const actor = typeof claims.email === "string" ? claims.email : subject;
    await audit.record({
      actor: actor.slice(0, 200),
      action: "session.refused",
      after: { reason },
      address: addressOf(context),
    });
    return fail(context, "refused", reason);
  };

  /** The sign-in page shows what happened. */
  const fail = (context: AdminApiContext, outcome: SignInFailure, reason: string): Response => {
    onFailure(reason);
    return context.redirect(`/console/sign-in?oidc=${outcome}`, 303);
  };

  return [
    {
      method: "GET",
      path: "/session/oidc",
      role: "anyone",
      scope: "gateway",
      summary: "Sign in with OpenID Connect: redirects the browser to the issuer.",
      response: null,
      status: 303,
      handle: start,
    },
    {
      method: "GET",
      path: callbackPath,
      role: "anyone",
      scope: "gateway",
      summary:
        "The issuer sends the browser here. Starts the session and redirects to the console.",
      query: callbackQuery,
      response: null,
      status: 303,
      handle: finish,
    },
  ];
}

/** Errors of the library have the reason of the issuer as their cause. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
