/** /openapi.json: this API as an OpenAPI document. */
import type { AdminApiContext, AdminOperation, AdminRoute } from "../admin-route.ts";

export interface OpenapiRoutesOptions {
  /** All operations of the admin API except this one. */
  readonly operations: readonly AdminOperation[];
  readonly version: string;
}

export function openapiRoutes({
  operations,
  version,
}: OpenapiRoutesOptions): readonly AdminRoute[] {
  const handle = async (context: AdminApiContext): Promise<Response> => {
    const { buildAdminOpenapi } = await import("../openapi/admin-openapi.ts");
    const serverUrl = context.env.incoming.publicUrl;
    const all = [...operations, ...routes];
    return context.json(buildAdminOpenapi({ operations: all, serverUrl, version }));
  };
  const routes: readonly AdminRoute[] = [
    {
      method: "GET",
      path: "/openapi.json",
      role: "viewer",
      scope: "gateway",
      summary: "Get this API as an OpenAPI document.",
      response: "application/json",
      handle,
    },
  ];
  return routes;
}
