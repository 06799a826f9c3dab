/** Sign-in with OpenID Connect: its settings, and the result of a test. */
import { z } from "zod";
import { translatableSchema } from "./error.ts";
import type { Infer } from "./infer.ts";
import { roleSchema } from "./users.ts";

export const oidcStatusSchema = z
  .strictObject({
    object: z.literal("oidc_status"),
    redirect_uri: z.string().describe("To register at the issuer."),
    sign_out_uri: z.string().describe("To register at the issuer as post-logout redirect URI."),
    configured: z
      .strictObject({
        issuer: z.string(),
        client_id: z.string(),
        has_client_secret: z.boolean(),
        name: z.string().describe("Of the button on the sign-in page."),
        scopes: z.string(),
        domains: z.array(z.string()).nullable().describe("`null`: every domain."),
        trusts_email: z.boolean(),
        claim: z.string(),
        required: z.array(z.string()),
        roles: z.array(z.strictObject({ value: z.string(), role: roleSchema })),
        default_role: roleSchema.nullable().describe("`null`: users without a role are refused."),
        projects: z.array(z.strictObject({ value: z.string(), projects: z.array(z.string()) })),
      })
      .nullable()
      .describe("`null`: there is no sign-in with OpenID Connect."),
    missing: z.array(z.string()).max(10).describe("The settings that are needed and not set."),
    issuer_problem: z
      .string()
      .nullable()
      .describe("Why the issuer cannot be used. `null`: it responds, or none is configured."),
  })
  .meta({ id: "OidcStatus" });
export type OidcStatus = Infer<typeof oidcStatusSchema>;

export const oidcTestSchema = z
  .strictObject({
    object: z.literal("oidc_test"),
    problem: z
      .string()
      .nullable()
      .describe("Why the person could not sign in. `null`: the sign-in would succeed."),
    i18n: translatableSchema.optional().describe("Of `problem`. If absent, it has no id."),
    email: z.string().nullable(),
    values: z.array(z.string()).describe("The values of the claim."),
    role: roleSchema.nullable(),
    projects: z
      .union([z.array(z.string()), z.literal("all")])
      .nullable()
      .describe("The projects that the person would see."),
    is_new: z.boolean().describe("The sign-in would create a user."),
  })
  .meta({ id: "OidcTest", description: "The result of a test sign-in. Nothing was changed." });
export type OidcTest = Infer<typeof oidcTestSchema>;
