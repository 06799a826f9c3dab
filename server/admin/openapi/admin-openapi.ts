/** The OpenAPI 3.1 document of the admin API, from its table of routes, its schemas and the types of contract/admin. */
import { z } from "zod";
import type { AdminOperation } from "../admin-route.ts";
import { TypeSchemas } from "./type-schemas.ts";

type Json = Record<string, unknown>;

export interface AdminOpenapiOptions {
  readonly operations: readonly AdminOperation[];
  readonly serverUrl: string;
  readonly version: string;
}

export function buildAdminOpenapi({ operations, serverUrl, version }: AdminOpenapiOptions): Json {
  const types = new TypeSchemas();
  const errorSchema = types.schemaOf("AdminError");
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = `/admin/api${operation.path.replace(/:(\w+)/g, "{$1}")}`;
    const described = describe(operation, types, errorSchema);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: described };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Vexel admin API",
      version,
      description: "The API of the console, also for scripts.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: serverUrl || "/" }],
    paths,
    components: {
      securitySchemes: {
        adminToken: {
          type: "http",
          scheme: "bearer",
          description: "The admin token (VEXEL_ADMIN_TOKEN).",
        },
        session: { type: "apiKey", in: "cookie", name: "vexel_session" },
      },
      schemas: types.components(),
    },
  };
}

function describe(operation: AdminOperation, types: TypeSchemas, errorSchema: unknown): Json {
  const { role, scope, summary, body } = operation;
  const parameters = [...pathParameters(operation), ...queryParameters(operation)];
  return {
    operationId: operationId(operation),
    summary,
    "x-role": role,
    "x-scope": scope,
    security: role === "anyone" ? [] : [{ adminToken: [] }, { session: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: schemaOf(body) } },
      },
    }),
    responses: {
      ...successOf(operation, types),
      default: {
        description: "An error. docs/errors.md lists all errors.",
        content: { "application/json": { schema: errorSchema } },
      },
    },
  };
}

function successOf({ response, status }: AdminOperation, types: TypeSchemas): Json {
  if (response === null) {
    return { [status ?? 204]: { description: status === 303 ? "A redirect." : "No content." } };
  }
  const content = response.includes("/")
    ? { [response]: {} }
    : { "application/json": { schema: types.schemaOf(response) } };
  return { [status ?? 200]: { description: "Success.", content } };
}

const pathParameters = ({ path }: AdminOperation): Json[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));

function queryParameters({ query }: AdminOperation): Json[] {
  if (!query) return [];
  const { properties = {}, required = [] } = schemaOf(query) as {
    properties?: Record<string, Json>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    description,
    schema,
  }));
}

/** Some checks are functions, which a JSON schema cannot express. */
function schemaOf(schema: z.ZodType): Json {
  const options = { io: "input", unrepresentable: "any" } as const;
  const { $schema, ...printed } = z.toJSONSchema(schema, options) as Json;
  return printed;
}

/** Such as `postKeysIdRotate`. */
const operationId = ({ method, path }: AdminOperation): string =>
  method.toLowerCase() +
  path
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
