/** Reads keys as the services of AWS return them. */

import type { AwsKeys, Issued } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import { refused } from "./request-credential.ts";

interface ReturnedKeys {
  readonly accessKeyId: unknown;
  readonly secretAccessKey: unknown;
  readonly sessionToken: unknown;
  /** A date as text, or Unix milliseconds. */
  readonly expiration: unknown;
}

/** `service`: its name, for operators. */
export function issuedKeys(
  { accessKeyId, secretAccessKey, sessionToken, expiration }: ReturnedKeys,
  now: number,
  service: string,
): Issued<AwsKeys> {
  if (typeof accessKeyId !== "string" || typeof secretAccessKey !== "string")
    throw refused(`${service} returned no keys`);
  const endsAt = typeof expiration === "number" ? expiration : Date.parse(String(expiration));
  return {
    value: {
      accessKeyId,
      secretAccessKey,
      ...(typeof sessionToken === "string" && { sessionToken }),
    },
    ...(!Number.isNaN(endsAt) && { lastsMs: endsAt - now }),
  };
}

/** The shape of the metadata services: `Token` and not `SessionToken`. */
export const metadataKeys = (body: unknown, now: number, service: string): Issued<AwsKeys> =>
  issuedKeys(
    {
      accessKeyId: memberOf(body, "AccessKeyId"),
      secretAccessKey: memberOf(body, "SecretAccessKey"),
      sessionToken: memberOf(body, "Token"),
      expiration: memberOf(body, "Expiration"),
    },
    now,
    service,
  );
