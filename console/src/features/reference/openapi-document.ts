/** The OpenAPI documents of this gateway, as the reference shows them. */
import { queryOptions } from "@tanstack/react-query";
import type { ShownModel } from "../../../../contract/admin.ts";

interface MediaType {
  readonly example?: unknown;
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** `path`: that of the model API or of the admin API. */
export const documentQuery = (path: string) =>
  queryOptions({
    queryKey: ["openapi", path],
    queryFn: async ({ signal }): Promise<OpenApiDocument> =>
      (await fetch(path, { signal })).json() as Promise<OpenApiDocument>,
    staleTime: Number.POSITIVE_INFINITY,
  });

/**
 * Examples name a model that this gateway has, so that they work as they are, and requests go to the address of the
 * page: the content security policy allows no other.
 */
export function forThisGateway(
  document: OpenApiDocument,
  models: readonly Pick<ShownModel, "id" | "kind">[],
): unknown {
  const ownModel = (path: string, example: object): object => {
    const kind = path.includes("/images/") ? "image" : "embedding";
    const own = models.filter((model) => model.kind === kind).map(({ id }) => id);
    const isKnown = "model" in example && own.includes(String(example.model));
    return "model" in example && !isKnown && own[0] ? { ...example, model: own[0] } : example;
  };
  const withOwnModel = (path: string, { requestBody, ...operation }: Operation): Operation => {
    const json = requestBody?.content["application/json"];
    if (typeof json?.example !== "object" || json.example === null)
      return requestBody ? { ...operation, requestBody } : operation;
    const example = ownModel(path, json.example);
    const content = { ...requestBody?.content, "application/json": { ...json, example } };
    return { ...operation, requestBody: { ...requestBody, content } };
  };
  const paths = Object.entries(document.paths).map(([path, operations]) => [
    path,
    Object.fromEntries(
      Object.entries(operations).map(([method, operation]) => [
        method,
        withOwnModel(path, operation),
      ]),
    ),
  ]);
  return { ...document, servers: [{ url: "/" }], paths: Object.fromEntries(paths) };
}
