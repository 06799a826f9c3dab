/** Users of the console. */
import { z } from "zod";
import type { Infer } from "./infer.ts";
import { roles } from "./roles.ts";

export const roleSchema = z.enum(roles).meta({
  id: "Role",
  description: "What a user of the console may do.",
});

export const projectRolesSchema = z
  .record(z.string(), roleSchema)
  .describe("The roles in single projects, instead of the general one.");

export const userSchema = z
  .strictObject({
    object: z.literal("user"),
    id: z.string(),
    name: z.string(),
    role: roleSchema,
    projects: z
      .union([z.array(z.string()), z.literal("all")])
      .describe("The projects that the user sees."),
    project_roles: projectRolesSchema,
    sign_in: z.enum(["password", "oidc"]),
    status: z
      .enum(["active", "invited", "disabled"])
      .describe("`invited`: the user has not chosen a password yet."),
    must_change_password: z
      .boolean()
      .describe("The user must choose a new password before anything else."),
    two_factor: z.boolean().describe("The sign-in with the password also needs a code."),
    invite_expires_at: z
      .string()
      .nullable()
      .describe("When the one-time link of the user expires. `null`: there is none."),
    created_at: z.string(),
    last_sign_in_at: z.string().nullable(),
  })
  .meta({ id: "User" });
export type User = Infer<typeof userSchema>;
