/** /openapi.json: this API as an OpenAPI document. */
import { StaticContent } from "../../http/static-content.ts";
import type { AdminApiContext, AdminOperation, AdminRoute } from "../admin-route.ts";

interface OpenapiRoutesOptions {
  /** All operations of the admin API except this one. */
  readonly operations: readonly AdminOperation[];
  /** Empty: the address from which the document was loaded. */
  readonly serverUrl: string;
  readonly version: string;
}

export function openapiRoutes({
  operations,
  serverUrl,
  version,
}: OpenapiRoutesOptions): readonly AdminRoute[] {
  const build = async (): Promise<StaticContent> => {
    const { buildAdminOpenapi } = await import("../openapi/admin-openapi.ts");
    const all = [...operations, ...routes];
    const document = buildAdminOpenapi({ operations: all, serverUrl, version });
    return StaticContent.fromText(JSON.stringify(document));
  };
  let built: Promise<StaticContent> | undefined;
  const handle = async ({ req }: AdminApiContext): Promise<Response> => {
    built ??= build();
    const requestHeaders = { get: (name: string) => req.header(name) ?? null };
    const { status, headers, body } = (await built).respond(requestHeaders, {
      "content-type": "application/json",
    });
    return new Response(status === 304 ? null : (body as Uint8Array<ArrayBuffer>), {
      status,
      headers,
    });
  };
  const routes: readonly AdminRoute[] = [
    {
      method: "GET",
      path: "/openapi.json",
      needs: "view",
      scope: "gateway",
      summary: "Get this API as an OpenAPI document.",
      response: "application/json",
      handle,
    },
  ];
  return routes;
}
