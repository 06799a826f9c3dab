/**
 * Refuses changes that the page of another site sends (CSRF), also a sign-in. Browsers send `origin` with every change.
 */

import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";

/** `publicUrl`: the base URL that the client used. */
export function checkOrigin(
  header: (name: string) => string | null | undefined,
  publicUrl: string,
): void {
  const origin = header("origin");
  if (!origin || (URL.canParse(publicUrl) && origin === new URL(publicUrl).origin)) return;
  // Behind a proxy that terminates TLS the gateway may not know its own origin. A page cannot set this header.
  if (header("sec-fetch-site") === "same-origin") return;
  throw new GatewayError(
    "invalid_csrf_token",
    message("wrong_origin", { origin: origin.slice(0, 200) }),
  );
}
