/** /session/oidc: sign-in with OpenID Connect. The browser goes to the issuer and comes back with a code. */
import { z } from "zod";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Oidc, SignInDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { setPendingSignIn, takePendingSignIn } from "../cookies.ts";
import { accessOf } from "../sign-in/oidc/oidc-access.ts";
import {
  type OidcIdentity,
  reasonOf,
  type SignInPurpose,
  signInPurposes,
} from "../sign-in/oidc/oidc-client.ts";
import { type OidcUser, oidcUser } from "../sign-in/oidc/oidc-users.ts";
import { startSession } from "../sign-in/start-session.ts";
import { shownUser } from "./users.ts";

const callbackPath = "/session/oidc/callback";
/** Each sign-in holds a connection to the issuer. */
const maxConcurrent = 20;

const startQuery = z.object({
  test: z
    .literal("true")
    .optional()
    .describe("No session starts: the browser returns to the page of the console with the result."),
  window: z
    .literal("true")
    .optional()
    .describe("In a window of its own, over a page whose session has ended."),
});

const callbackQuery = z.object({
  code: z.string().max(8192).optional().describe("The authorization code of the issuer."),
  state: z.string().max(8192).optional().describe("The state of the sign-in."),
  iss: z.string().max(8192).optional().describe("The issuer."),
  error: z.string().max(8192).optional().describe("Why the issuer refuses the sign-in."),
});

type SignInFailure = "expired" | "failed" | "refused";

export function oidcRoutes(
  options: SignInDependencies,
  { settings, client, onFailure, tests }: Oidc,
): readonly AdminRoute[] {
  const { users, audit, now } = options;
  let concurrent = 0;

  const limited = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (concurrent >= maxConcurrent) {
      throw new GatewayError("overloaded", message("too_many_sign_ins_now"), {
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
    const purpose = signInPurposes.find((each) => context.req.query(each) !== undefined);
    try {
      const { url, pending } = await limited(() =>
        client.start(`${context.env.incoming.publicUrl}/admin/api${callbackPath}`),
      );
      setPendingSignIn(context, { ...pending, purpose });
      return context.redirect(url, 303);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      return fail(context, "failed", reasonOf(error), purpose);
    }
  };

  const finish = async (context: AdminApiContext): Promise<Response> => {
    const pending = takePendingSignIn(context);
    if (!pending) return fail(context, "expired", "the cookie of the sign-in is missing");
    const { publicUrl, search } = context.env.incoming;
    let identity: OidcIdentity;
    try {
      const callback = new URL(`${publicUrl}/admin/api${callbackPath}${search}`);
      identity = await limited(() => client.finish(callback, pending));
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const { purpose } = pending;
      if (purpose === "test") return context.redirect(tests.failed(reasonOf(error)), 303);
      return fail(context, "failed", reasonOf(error), purpose);
    }
    return pending.purpose === "test"
      ? context.redirect(await tests.finished(identity), 303)
      : signIn(context, identity, pending.purpose);
  };

  const signIn = async (
    context: AdminApiContext,
    identity: OidcIdentity,
    purpose: SignInPurpose | undefined,
  ): Promise<Response> => {
    const access = accessOf(identity.claims, settings);
    if ("text" in access) return refuse(context, identity, access.text, purpose);
    const found = await oidcUser(identity.subject, access, { users, settings, now });
    if (typeof found === "string") return refuse(context, identity, found, purpose);
    await recordChange(context, found);
    await startSession(context, found.user, options);
    return context.redirect(purpose === "window" ? "/console/sign-in-done" : "/console/", 303);
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
      address: context.env.address,
    });
  };

  const refuse = async (
    context: AdminApiContext,
    { subject, claims }: OidcIdentity,
    reason: string,
    purpose: SignInPurpose | undefined,
  ): Promise<Response> => {
    const actor = typeof claims.email === "string" ? claims.email : subject;
    await audit.record({
      actor: actor.slice(0, 200),
      action: "session.refused",
      after: { reason },
      address: context.env.address,
    });
    return fail(context, "refused", reason, purpose);
  };

  /** The sign-in page, or the last page of the window, shows what happened. */
  const fail = (
    context: AdminApiContext,
    outcome: SignInFailure,
    reason: string,
    purpose?: SignInPurpose,
  ): Response => {
    onFailure(reason);
    const page = purpose === "window" ? "sign-in-done" : "sign-in";
    return context.redirect(`/console/${page}?oidc=${outcome}`, 303);
  };

  return [
    {
      method: "GET",
      path: "/session/oidc",
      needs: "anyone",
      scope: "gateway",
      summary: "Sign in with OpenID Connect: redirects the browser to the issuer.",
      query: startQuery,
      response: null,
      status: 303,
      handle: start,
    },
    {
      method: "GET",
      path: callbackPath,
      needs: "anyone",
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
