/** Starts the session of an authenticated user: a new token in a cookie, and an entry in the audit log. */
import type { StoredUser } from "../../storage/sql/user-store.ts";
import type { SignInDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext } from "../admin-route.ts";
import { setSessionCookie } from "../cookies.ts";
import type { ActiveSession } from "./sessions.ts";

export async function startSession(
  context: AdminApiContext,
  user: StoredUser,
  { sessions, audit }: SignInDependencies,
): Promise<ActiveSession> {
  const userAgent = context.req.header("user-agent") ?? "";
  const issued = await sessions.issue(user, { address: context.env.address, userAgent });
  setSessionCookie(context, issued);
  await audit.record({ actor: user.name, action: "session.created", address: context.env.address });
  return issued;
}
