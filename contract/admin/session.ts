/** The session of a signed-in user, and sign-in. */
import type { Role } from "./roles.ts";

export interface SessionUser {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** The projects that a developer or viewer may see. `null`: all projects. */
  readonly projects: readonly string[] | null;
}

export interface Session {
  readonly object: "session";
  readonly user: SessionUser;
  /** Every changing request sends it in the header `x-csrf-token`. */
  readonly csrf_token: string;
  readonly expires_at: string;
}

/** What the sign-in page needs before anybody has signed in. */
export interface SignInOptions {
  readonly object: "sign_in_options";
  /** No user exists yet: only the one-time link of the start message creates the first. */
  readonly needs_setup: boolean;
  readonly oidc: { readonly name: string } | null;
}

/** The user is signed out of the console. */
export interface SignedOut {
  readonly object: "signed_out";
  /** Where the browser ends the session at the issuer of OpenID Connect. */
  readonly continue_at: string | null;
}

/** Of new passwords. */
export const minPasswordLength = 12;

export interface SignInRequest {
  readonly name: string;
  readonly password: string;
}

/** Creates the first user. `token`: from the one-time link. */
export interface SetupRequest extends SignInRequest {
  readonly token: string;
}
