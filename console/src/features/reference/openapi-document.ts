/** The OpenAPI documents of this gateway, as the reference shows them. */
import { queryOptions } from "@tanstack/react-query";
import type { MessageKey } from "../../i18n/message-keys.ts";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  /** The content of a file. */
  readonly contentMediaType?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
}

type Content = Readonly<Record<string, MediaType>>;

interface DocumentedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  /** Empty: no credential is needed. */
  readonly security?: readonly unknown[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Content }>
  >;
  /** The least role that may use an operation of the admin API. */
  readonly "x-role"?: string;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface Operation extends DocumentedOperation {
  /** In upper case. */
  readonly method: string;
  readonly path: string;
}

/** `token`: the environment variable that samples read the credential from. */
export const apis = {
  models: { document: "/openapi.json", label: "reference.models", token: "VEXEL_KEY" },
  admin: {
    document: "/admin/api/openapi.json",
    label: "reference.admin",
    token: "VEXEL_ADMIN_TOKEN",
  },
} as const satisfies Record<string, { document: string; label: MessageKey; token: string }>;

export type Api = keyof typeof apis;

export const documentQuery = (api: Api) =>
  queryOptions({
    queryKey: ["openapi", api],
    queryFn: async ({ signal }): Promise<OpenApiDocument> => {
      const response = await fetch(apis[api].document, { signal });
      if (!response.ok) throw new Error(`${apis[api].document}: ${response.status}`);
      return (await response.json()) as OpenApiDocument;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

export const operationsOf = ({ paths }: OpenApiDocument): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );

/** The content type of a request: JSON where there is a choice. Undefined without a body. */
export function bodyTypeOf({ requestBody }: Operation): "json" | "form" | undefined {
  if (!requestBody) return undefined;
  return requestBody.content["application/json"] ? "json" : "form";
}

export const bodySchemaOf = (operation: Operation): Schema | undefined =>
  operation.requestBody?.content[
    bodyTypeOf(operation) === "json" ? "application/json" : "multipart/form-data"
  ]?.schema;
