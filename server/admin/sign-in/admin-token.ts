/** The admin token of scripts, VEXEL_ADMIN_TOKEN. */
import { isSameSecret } from "../../lib/secret-hash.ts";

/** The token in `Authorization: Bearer TOKEN`. Undefined if the header is absent or has another form. */
export const bearerToken = (authorization: string | null | undefined): string | undefined =>
  /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];

/** `adminToken` empty: scripts have no access. */
export const isAdminToken = (presented: string | undefined, adminToken: string): boolean =>
  presented !== undefined && adminToken !== "" && isSameSecret(presented, adminToken);
