/** Users of the console, and their sign-in. */
import { z } from "zod";
import { minPasswordLength } from "../admin/constants.ts";
import { projectRoles, roles } from "../admin/roles.ts";
import { schemaText } from "../messages/schema-messages.ts";
import { boundedRecord } from "./bounded-record.ts";
import { mailAddress } from "./names.ts";

const userName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\p{C}]*$/u, schemaText("no_line_breaks"));

export const maxPasswordLength = 200;
const newPassword = z
  .string()
  .meta({ maxLength: maxPasswordLength })
  .refine(
    ({ length }) => length >= minPasswordLength && length <= maxPasswordLength,
    schemaText("password_length", { min: minPasswordLength, max: maxPasswordLength }),
  );

const projectName = z.string().min(1).max(200);
const maxProjects = 1000;

const projects = z
  .union([z.literal("all"), z.array(projectName).max(maxProjects)])
  .describe("The projects that the user sees, or `all`. Administrators always see all projects.");

const rolesOfProjects = boundedRecord(projectName, z.enum(projectRoles), maxProjects).describe(
  "The roles in single ones of `projects`, instead of `role`.",
);

/** A member of a project, with a role in this project. */
export const memberBody = z.strictObject({
  role: z
    .enum(projectRoles)
    .nullable()
    .default(null)
    .describe("The role in this project. `null`: the general role of the user."),
});

const mustChangePassword = z
  .boolean()
  .describe("The user must choose a new password at the next sign-in.");

export const newUserBody = z.strictObject({
  name: userName,
  password: newPassword
    .optional()
    .describe("If absent, the user chooses one with the link of POST /users/{id}/invite."),
  must_change_password: mustChangePassword.default(false),
  role: z.enum(roles),
  // The safe default: a user who sees all projects is created on purpose.
  projects: projects.default([]),
  project_roles: rolesOfProjects.default({}),
});

export const changedUserBody = z.strictObject({
  name: userName.optional(),
  password: newPassword.optional(),
  must_change_password: mustChangePassword.optional(),
  disabled: z
    .boolean()
    .optional()
    .describe("`true`: the sessions and tokens of the user end, and the user cannot sign in."),
  two_factor: z.literal(false).optional().describe("Removes the second factor of the user."),
  role: z.enum(roles).optional(),
  projects: projects.optional(),
  project_roles: rolesOfProjects.optional(),
});

export const movedKeysBody = z.strictObject({
  to: z.string().max(200).describe("The id of the user that the keys are shown with from now on."),
});

export const signInBody = z.strictObject({
  name: z.string().max(200),
  password: z.string().max(maxPasswordLength),
  code: z
    .string()
    .max(40)
    .optional()
    .describe("Of the authenticator app, or a recovery code, if the user has a second factor."),
});
export const setupBody = z.strictObject({
  name: userName,
  password: newPassword,
  token: z.string().max(200),
});

const currentPassword = z.string().max(maxPasswordLength).describe("The password of the user.");
const code = z.string().max(40);
const token = z.string().max(200).describe("The part of the link after #.");

/** The account of the signed-in user. */
export const changedPasswordBody = z.strictObject({
  current_password: currentPassword,
  new_password: newPassword,
});
export const confirmBody = z.strictObject({ password: currentPassword });
export const enableTotpBody = z.strictObject({
  enrollment: z.string().max(1000),
  code: code.describe("The code that the authenticator app shows."),
});

const maxTokenDays = 366;
export const newTokenBody = z.strictObject({
  name: userName,
  expires_in_days: z.int().min(1).max(maxTokenDays),
  password: currentPassword
    .optional()
    .describe("Your password. Users of OpenID Connect have none and leave it out."),
});

/** The text after # in the address to which a test sign-in returns. */
export const oidcTestBody = z.strictObject({ result: z.string().max(20_000) });

/** A week: long enough for a person who is away. */
const maxInviteHours = 7 * 24;
export const newInviteBody = z.strictObject({
  expires_in_hours: z.int().min(1).max(maxInviteHours).default(72),
  email: mailAddress
    .optional()
    .describe("The link is also sent to this address, if VEXEL_SMTP_URL is set."),
});
export const inviteTokenBody = z.strictObject({ token });
export const acceptedInviteBody = z.strictObject({ token, password: newPassword });
