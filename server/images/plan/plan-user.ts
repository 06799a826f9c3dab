/**
 * Plans the end-user identifier for a target that limits its length: the adapter shortens or pads it, and the response
 * reports that.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { ImageCapabilities } from "../../upstream/image-capabilities.ts";
import type { Draft } from "./image-plan.ts";

export function planUser(
  { options, policy, adapted, dropped }: Draft,
  { userLength }: ImageCapabilities,
): void {
  if (!userLength) return;
  const { safety_identifier, user } = options;
  const name = safety_identifier === undefined ? "user" : "safety_identifier";
  // The target supports only one of `user` and `safety_identifier`.
  if (safety_identifier !== undefined && user !== undefined) {
    if (policy === "strict") throw bothUserFields();
    delete options.user;
    dropped.push("user");
  }
  const { length } = options[name] ?? { length: userLength.min };
  if (length >= userLength.min && length <= userLength.max) return;
  if (policy !== "strict") adapted.push(name);
  else {
    throw new GatewayError(
      "invalid_value",
      `Invalid '${name}': expected ${userLength.min} to ${userLength.max} characters for this model, but got ${length}.`,
      { param: name },
    );
  }
}

const bothUserFields = (): GatewayError =>
  new GatewayError(
    "invalid_value",
    "Invalid 'user': this model accepts either 'user' or 'safety_identifier'. Omit 'user'.",
    { param: "user" },
  );
