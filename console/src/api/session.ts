/**
 * The session of the signed-in user. A session that ends while a page is open leaves the page as it is: the user signs
 * in over it. All tabs of the browser learn that a session has begun.
 */
import { queryOptions } from "@tanstack/react-query";
import type {
  Session,
  SetupRequest,
  SignedOut,
  SignInOptions,
  SignInRequest,
} from "../../../contract/admin.ts";
import { ApiError, call, setCsrfToken } from "./client.ts";

/** Of this page, also after it has ended. */
let current: Session | undefined;
let hasEnded = false;
const listeners = new Set<() => void>();
const channel = new BroadcastChannel("vexel-session");

export const hasSessionEnded = (): boolean => hasEnded;

export function subscribeToSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setEnded(ended: boolean): void {
  if (ended === hasEnded) return;
  hasEnded = ended;
  for (const listener of listeners) listener();
}

/** `null`: no user is signed in, and none was since the page was loaded. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async (): Promise<Session | null> => {
    try {
      return keep(await call<Session>("/session"));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      if (current) setEnded(true);
      return current ?? null;
    }
  },
  staleTime: 60_000,
});

export const signInOptionsQuery = queryOptions({
  queryKey: ["sign-in-options"],
  queryFn: () => call<SignInOptions>("/session/options"),
});

/** The data and the forms of a page are those of one user: for another one, the page is loaded again. */
function keep(session: Session): Session {
  setCsrfToken(session.csrf_token);
  if (current && current.user.id !== session.user.id) location.assign("/console/");
  else setEnded(false);
  current = session;
  return session;
}

function begin(session: Session): Session {
  keep(session);
  announceSession();
  return session;
}

export const announceSession = (): void => channel.postMessage("begun");

/** `listener` is called when a session has begun in another tab or window of this browser. */
export function listenForSession(listener: () => void): void {
  channel.addEventListener("message", listener);
}

export const signIn = async (body: SignInRequest): Promise<Session> =>
  begin(await call<Session>("/session", { method: "POST", body }));

export const setUp = async (body: SetupRequest): Promise<Session> =>
  begin(await call<Session>("/session/setup", { method: "POST", body }));

export async function signOut(): Promise<SignedOut> {
  const signedOut = await call<SignedOut>("/session", { method: "DELETE" });
  current = undefined;
  return signedOut;
}
