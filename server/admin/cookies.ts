/** The cookies of the admin API: HttpOnly, SameSite, and Secure wherever the gateway is reached over HTTPS. */
import { getCookie, setCookie } from "hono/cookie";
import type { AdminApiContext } from "./admin-route.ts";
import { sessionCookie } from "./sign-in/authenticate-actor.ts";
import { deviceCookie, deviceMaxAgeSeconds, newDevice } from "./sign-in/device-cookie.ts";
import { type PendingSignIn, signInPurposes } from "./sign-in/oidc/oidc-client.ts";
import type { IssuedSession } from "./sign-in/sessions.ts";

const path = "/admin/api";
const oidcCookie = "vexel_oidc";
const oidcPath = `${path}/session/oidc`;
const oidcMaxAgeSeconds = 600;

const optionsOf = (context: AdminApiContext) => ({
  httpOnly: true,
  sameSite: "Strict" as const,
  path,
  secure: new URL(context.req.url).protocol === "https:",
});

export function setSessionCookie(context: AdminApiContext, session: IssuedSession): void {
  setCookie(context, sessionCookie, session.token, {
    ...optionsOf(context),
    expires: new Date(session.expiresAt),
  });
}

/** The user has signed in with the password in this browser. */
export function setDeviceCookie(context: AdminApiContext, passwordHash: string): void {
  setCookie(context, deviceCookie, newDevice(passwordHash), {
    ...optionsOf(context),
    maxAge: deviceMaxAgeSeconds,
  });
}

export const readDeviceCookie = (context: AdminApiContext): string | undefined =>
  getCookie(context, deviceCookie);

/** `Lax`: the browser returns from the issuer, which is another site. */
export function setPendingSignIn(context: AdminApiContext, pending: PendingSignIn): void {
  const { state, nonce, codeVerifier, purpose } = pending;
  const parts = [state, nonce, codeVerifier, ...(purpose ? [purpose] : [])];
  setCookie(context, oidcCookie, parts.join("."), {
    ...optionsOf(context),
    path: oidcPath,
    sameSite: "Lax",
    maxAge: oidcMaxAgeSeconds,
  });
}

/** Reads the cookie and removes it: a sign-in can be finished once. */
export function takePendingSignIn(context: AdminApiContext): PendingSignIn | undefined {
  const [state, nonce, codeVerifier, given] = getCookie(context, oidcCookie)?.split(".") ?? [];
  setCookie(context, oidcCookie, "", { ...optionsOf(context), path: oidcPath, maxAge: 0 });
  const purpose = signInPurposes.find((each) => each === given);
  return state && nonce && codeVerifier ? { state, nonce, codeVerifier, purpose } : undefined;
}
