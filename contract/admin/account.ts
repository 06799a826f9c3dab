/** The account of the signed-in user: sessions, tokens of the admin API, and the second factor. */
import { z } from "zod";
import type { Infer } from "./infer.ts";
import { userSchema } from "./users.ts";

export const accountSchema = z
  .strictObject({
    object: z.literal("account"),
    user: userSchema,
    recovery_codes_left: z
      .number()
      .nullable()
      .describe("Recovery codes that were not used. `null`: there is no second factor."),
  })
  .meta({ id: "Account" });
export type Account = Infer<typeof accountSchema>;

export const accountSessionSchema = z
  .strictObject({
    object: z.literal("account_session"),
    id: z.string(),
    is_current: z.boolean().describe("The session of this request."),
    address: z.string().describe("The IP address at the sign-in."),
    user_agent: z.string().describe("The browser at the sign-in, as it names itself."),
    signed_in_at: z.string(),
    last_seen_at: z.string().describe("Written at most once a minute."),
  })
  .meta({ id: "AccountSession" });
export type AccountSession = Infer<typeof accountSessionSchema>;

export const adminTokenSchema = z
  .strictObject({
    object: z.literal("admin_token"),
    id: z.string(),
    name: z.string(),
    hint: z.string().describe("The first characters of the token."),
    created_at: z.string(),
    expires_at: z.string(),
    last_used_at: z.string().nullable().describe("Written at most once a minute."),
  })
  .meta({ id: "AdminToken" });
export type AdminToken = Infer<typeof adminTokenSchema>;

export const createdAdminTokenSchema = adminTokenSchema
  .extend({ token: z.string().describe("The text of the token. It is not shown again.") })
  .meta({ id: "CreatedAdminToken" });
export type CreatedAdminToken = Infer<typeof createdAdminTokenSchema>;

export const totpEnrollmentSchema = z
  .strictObject({
    object: z.literal("totp_enrollment"),
    secret: z.string().describe("In Base32, to type into an authenticator app."),
    uri: z.string().describe("The same as a URI, for a QR code."),
    enrollment: z.string().describe("To send back with the first code, within 15 minutes."),
  })
  .meta({ id: "TotpEnrollment" });
export type TotpEnrollment = Infer<typeof totpEnrollmentSchema>;

export const recoveryCodesSchema = z
  .strictObject({
    object: z.literal("recovery_codes"),
    codes: z.array(z.string()).describe("Each is valid once. They are not shown again."),
  })
  .meta({ id: "RecoveryCodes" });
export type RecoveryCodes = Infer<typeof recoveryCodesSchema>;

export const inviteSchema = z
  .strictObject({
    object: z.literal("invite"),
    user: z.string().describe("The id of the user."),
    url: z.string().describe("The one-time link. It is not shown again."),
    expires_at: z.string(),
    sent_to: z.string().nullable().describe("The address that the link was sent to."),
    mail_problem: z.string().nullable().describe("Why it could not be sent."),
  })
  .meta({ id: "Invite" });
export type Invite = Infer<typeof inviteSchema>;

export const shownInviteSchema = z
  .strictObject({
    object: z.literal("invite_preview"),
    name: z.string().describe("The name of the user."),
    expires_at: z.string(),
  })
  .meta({ id: "InvitePreview" });
export type InvitePreview = Infer<typeof shownInviteSchema>;
