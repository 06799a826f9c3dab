/** Users of the console. */
import type { Role } from "./roles.ts";

export interface User {
  readonly object: "user";
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** The projects that the user sees. */
  readonly projects: readonly string[] | "all";
  readonly sign_in: "password" | "oidc";
  readonly created_at: string;
  readonly last_sign_in_at: string | null;
}
