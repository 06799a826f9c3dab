/** A new user of the console, with an id of its own. */
import { randomBytes } from "node:crypto";
import type { StoredUser } from "../storage/sql/user-store.ts";

type Given = Pick<StoredUser, "name" | "role" | "projects" | "passwordHash" | "createdAt"> &
  Partial<StoredUser>;

export const newUser = (user: Given): StoredUser => ({
  mustChangePassword: false,
  disabledAt: null,
  invite: null,
  totp: null,
  oidcSubject: null,
  projectRoles: {},
  ...user,
  id: `user_${randomBytes(8).toString("hex")}`,
  lastSignInAt: null,
});
