/** The session of a signed-in user, and sign-in. */
import { z } from "zod";
import type { Infer } from "./infer.ts";
import { projectRolesSchema, roleSchema } from "./users.ts";

const sessionUserSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    role: roleSchema,
    projects: z
      .array(z.string())
      .nullable()
      .describe("The projects that a user who is no administrator may see. `null`: all projects."),
    project_roles: projectRolesSchema,
    must_change_password: z
      .boolean()
      .describe("Every other request is refused until the user has chosen a new password."),
  })
  .meta({ id: "SessionUser" });
export type SessionUser = Infer<typeof sessionUserSchema>;

export const sessionSchema = z
  .strictObject({
    object: z.literal("session"),
    user: sessionUserSchema,
    csrf_token: z
      .string()
      .describe("Every changing request sends it in the header `x-csrf-token`."),
    expires_at: z.string(),
  })
  .meta({ id: "Session" });
export type Session = Infer<typeof sessionSchema>;

export const signInOptionsSchema = z
  .strictObject({
    object: z.literal("sign_in_options"),
    needs_setup: z
      .boolean()
      .describe(
        "No user exists yet: only the one-time link of the start message creates the first.",
      ),
    oidc: z.strictObject({ name: z.string() }).nullable(),
  })
  .meta({
    id: "SignInOptions",
    description: "What the sign-in page needs before anybody has signed in.",
  });
export type SignInOptions = Infer<typeof signInOptionsSchema>;

export const signedOutSchema = z
  .strictObject({
    object: z.literal("signed_out"),
    continue_at: z
      .string()
      .nullable()
      .describe("Where the browser ends the session at the issuer of OpenID Connect."),
  })
  .meta({ id: "SignedOut", description: "The user is signed out of the console." });
export type SignedOut = Infer<typeof signedOutSchema>;

export interface SignInRequest {
  readonly name: string;
  readonly password: string;
  /** Of the second factor. */
  readonly code?: string | undefined;
}

/** Creates the first user. `token`: from the one-time link. */
export interface SetupRequest extends SignInRequest {
  readonly token: string;
}
