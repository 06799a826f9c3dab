/** Confirms the password of a signed-in user before a change of the account. */
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { StoredUser } from "../../storage/sql/user-store.ts";
import type { SignInDependencies } from "../admin-dependencies.ts";
import type { ActiveSession } from "./sessions.ts";

/**
 * The user of the session. Throws if the password is wrong, or if the user signs in at an issuer and has none. Guesses
 * of a stolen session are throttled as sign-ins are.
 */
export async function confirmPassword(
  { user, id }: Pick<ActiveSession, "user" | "id">,
  password: string,
  { throttle, passwords }: Pick<SignInDependencies, "throttle" | "passwords">,
): Promise<StoredUser> {
  if (user.passwordHash === null)
    throw new GatewayError("invalid_value", message("account_at_issuer"));
  const attempt = { name: user.name, device: id };
  throttle.check(attempt);
  throttle.fail(attempt);
  if (!(await passwords.verify(password, user.passwordHash))) {
    throw new GatewayError("invalid_value", message("wrong_password"), { param: "password" });
  }
  throttle.succeed(attempt);
  return user;
}
