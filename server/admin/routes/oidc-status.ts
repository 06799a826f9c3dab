/** /oidc: the settings of sign-in with OpenID Connect, what is missing, and the result of a test sign-in. */

import { oidcStatusSchema, oidcTestSchema } from "../../../contract/admin/oidc.ts";
import type { OidcStatus } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { oidcTestBody } from "../../../contract/schemas/users.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Oidc } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readBody } from "../read-body.ts";
import type { OidcSettings } from "../sign-in/oidc/oidc-settings.ts";

/** The settings without which there is no sign-in with OpenID Connect. */
const needed = ["VEXEL_OIDC_ISSUER", "VEXEL_OIDC_CLIENT_ID", "VEXEL_OIDC_DOMAINS"];

export function oidcStatusRoutes(oidc: Oidc | undefined): readonly AdminRoute[] {
  const show = async (context: AdminApiContext): Promise<Response> => {
    const { publicUrl } = context.env.incoming;
    const shown: OidcStatus = {
      object: "oidc_status",
      redirect_uri: `${publicUrl}/admin/api/session/oidc/callback`,
      sign_out_uri: `${publicUrl}/console/sign-in`,
      configured: oidc ? shownSettings(oidc.settings) : null,
      missing: oidc ? [] : needed,
      issuer_problem: (await oidc?.client.problem()) ?? null,
    };
    return context.json(shown);
  };

  const readTest = async (context: AdminApiContext): Promise<Response> => {
    const { result } = await readBody(context, oidcTestBody);
    if (oidc) return context.json(oidc.tests.read(result));
    throw new GatewayError("invalid_value", message("no_oidc"));
  };

  return [
    {
      method: "GET",
      path: "/oidc",
      needs: "administer",
      scope: "all-projects",
      summary: "Get the settings of sign-in with OpenID Connect, and what is missing.",
      response: oidcStatusSchema,
      handle: show,
    },
    {
      method: "POST",
      path: "/oidc/test",
      needs: "administer",
      scope: "all-projects",
      summary: "Read the result of a test sign-in.",
      body: oidcTestBody,
      response: oidcTestSchema,
      handle: readTest,
    },
  ];
}

const shownSettings = (settings: OidcSettings): NonNullable<OidcStatus["configured"]> => ({
  issuer: settings.issuer.href,
  client_id: settings.clientId,
  has_client_secret: settings.clientSecret !== undefined,
  name: settings.name,
  scopes: settings.scopes,
  domains: settings.domains && [...settings.domains],
  trusts_email: settings.trustEmail,
  claim: settings.claim,
  required: settings.required,
  roles: [...settings.roles].map(([value, role]) => ({ value, role })),
  default_role: settings.defaultRole,
  projects: [...settings.projects].map(([value, projects]) => ({ value, projects })),
});
