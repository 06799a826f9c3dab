/**
 * One OpenAPI document, shown by Swagger UI. Requests to the model API are sent with the key that the user enters there,
 * which stays in this page; requests to the admin API are sent with the session.
 */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import type { Page, ShownModel } from "../../../../contract/admin.ts";
import { checkSession, csrfHeader } from "../../api/client.ts";
import { QueryView } from "../../ui/states.tsx";
import { modelsQuery } from "../models/models-query.ts";
import { documentQuery, forThisGateway, type OpenApiDocument } from "./openapi-document.ts";
import { swaggerPlugin } from "./swagger-plugin.ts";

export function ApiDocument({ path }: { path: string }) {
  const query = useQuery(documentQuery(path));
  return (
    <QueryView query={query}>
      {(document) => <Operations key={path} document={document} />}
    </QueryView>
  );
}

const namesOf = ({ data }: Page<ShownModel>) => data.map(({ id, kind }) => ({ id, kind }));

const isAdminApi = (url: string): boolean =>
  new URL(url, location.href).pathname.startsWith("/admin/api/");

function Operations({ document: given }: { document: OpenApiDocument }) {
  const container = useRef<HTMLDivElement>(null);
  const { data: models } = useQuery({ ...modelsQuery, select: namesOf });
  // Another specification discards the key, the results and what is open: the health of a target does not change it.
  const spec = useMemo(() => models && forThisGateway(given, models), [given, models]);
  useEffect(() => {
    const domNode = document.createElement("div");
    if (!spec || !container.current) return undefined;
    container.current.append(domNode);
    SwaggerUI({
      domNode,
      spec,
      plugins: [swaggerPlugin],
      docExpansion: "list",
      defaultModelsExpandDepth: -1,
      defaultModelRendering: "model",
      filter: true,
      // Its colors have too little contrast.
      syntaxHighlight: false,
      validatorUrl: null,
      requestInterceptor: (request) => {
        if (isAdminApi(request.url)) Object.assign(request.headers, csrfHeader());
        return request;
      },
      responseInterceptor: (response) => {
        if (response.status === 401 && isAdminApi(response.url)) checkSession();
        return response;
      },
    });
    return () => domNode.remove();
  }, [spec]);
  return <div ref={container} />;
}
