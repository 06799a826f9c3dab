/** Starts the session of an authenticated user: a new token in a cookie, and an entry in the audit log. */
import type { StoredUser } from "../../storage/ports/user-store.ts";
import { type AdminApiContext, addressOf } from "../admin-route.ts";
import type { Audit } from "../audit.ts";
import { setSessionCookie } from "../cookies.ts";
import type { ActiveSession, Sessions } from "./sessions.ts";

export interface StartSessionOptions {
  readonly sessions: Sessions;
  readonly audit: Audit;
}

export async function startSession(
  context: AdminApiContext,
  user: StoredUser,
  { sessions, audit }: StartSessionOptions,
): Promise<ActiveSession> {
  const issued = await sessions.issue(user);
  setSessionCookie(context, issued);
  await audit.record({ actor: user.name, action: "session.created", address: addressOf(context) });
  return issued;
}
