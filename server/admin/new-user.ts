/** A new user of the console, with an id of its own. */
import { randomBytes } from "node:crypto";
import type { StoredUser } from "../storage/ports/user-store.ts";

export const newUser = (user: Omit<StoredUser, "id" | "lastSignInAt">): StoredUser => ({
  ...user,
  id: `user_${randomBytes(8).toString("hex")}`,
  lastSignInAt: null,
});
