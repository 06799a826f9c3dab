/** Users of the console, and their sign-in. */
import { z } from "zod";
import { minPasswordLength } from "../admin/constants.ts";
import { roles } from "../admin/roles.ts";

const userName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\p{C}]*$/u, "must not contain line breaks or invisible characters");

export const maxPasswordLength = 200;
const newPassword = z
  .string()
  .meta({ maxLength: maxPasswordLength })
  .refine(
    ({ length }) => length >= minPasswordLength && length <= maxPasswordLength,
    `it must have ${minPasswordLength} to ${maxPasswordLength} characters.`,
  );

const projects = z
  .union([z.literal("all"), z.array(z.string().min(1).max(200)).max(1000)])
  .describe("The projects that the user sees, or `all`. Administrators always see all projects.");

export const newUserBody = z.strictObject({
  name: userName,
  password: newPassword,
  role: z.enum(roles),
  // The safe default: a user who sees all projects is created on purpose.
  projects: projects.default([]),
});

export const changedUserBody = z.strictObject({
  name: userName.optional(),
  password: newPassword.optional(),
  role: z.enum(roles).optional(),
  projects: projects.optional(),
});

export const signInBody = z.strictObject({
  name: z.string().max(200),
  password: z.string().max(maxPasswordLength),
});
export const setupBody = z.strictObject({
  name: userName,
  password: newPassword,
  token: z.string().max(200),
});
