/** The session of the signed-in user. */
import { queryOptions } from "@tanstack/react-query";
import type {
  Session,
  SetupRequest,
  SignedOut,
  SignInOptions,
  SignInRequest,
} from "../../../contract/admin.ts";
import { ApiError, call, setCsrfToken } from "./client.ts";

/** `null`: no user is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async (): Promise<Session | null> => {
    try {
      return keepToken(await call<Session>("/session"));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
});

export const signInOptionsQuery = queryOptions({
  queryKey: ["sign-in-options"],
  queryFn: () => call<SignInOptions>("/session/options"),
});

function keepToken(session: Session): Session {
  setCsrfToken(session.csrf_token);
  return session;
}

export const signIn = async (body: SignInRequest): Promise<Session> =>
  keepToken(await call<Session>("/session", { method: "POST", body }));

export const setUp = async (body: SetupRequest): Promise<Session> =>
  keepToken(await call<Session>("/session/setup", { method: "POST", body }));

export const signOut = (): Promise<SignedOut> => call("/session", { method: "DELETE" });
