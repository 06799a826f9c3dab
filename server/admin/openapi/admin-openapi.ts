/** The OpenAPI 3.1 document of the admin API, from its table of routes and their schemas. */
import { z } from "zod";
import { adminErrorSchema } from "../../../contract/admin/error.ts";
import { rolesWith } from "../../../contract/admin/roles.ts";
import type { AdminOperation } from "../admin-route.ts";

type Json = Record<string, unknown>;

interface AdminOpenapiOptions {
  readonly operations: readonly AdminOperation[];
  readonly serverUrl: string;
  readonly version: string;
}

export function buildAdminOpenapi({ operations, serverUrl, version }: AdminOpenapiOptions): Json {
  const { schemas, error, responses } = responseSchemas(operations);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = `/admin/api${operation.path.replace(/:(\w+)/g, "{$1}")}`;
    const described = describe(operation, error, responses[operationId(operation)]);
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
      schemas,
    },
  };
}

interface ResponseSchemas {
  /** The schemas with an `id`. The others refer to them. */
  readonly schemas: Json;
  readonly error: unknown;
  /** By the id of the operation. */
  readonly responses: Json;
}

/** One object with all schemas as members is converted, so that each schema with an `id` is listed once. */
function responseSchemas(operations: readonly AdminOperation[]): ResponseSchemas {
  const members = operations.flatMap((operation) =>
    operation.response instanceof z.ZodType ? [[operationId(operation), operation.response]] : [],
  );
  const all = z.toJSONSchema(z.object({ error: adminErrorSchema, ...Object.fromEntries(members) }));
  const text = JSON.stringify(all).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $defs, properties } = JSON.parse(text) as { $defs: Json; properties: Json };
  const { error, ...responses } = properties;
  return { schemas: $defs, error, responses };
}

function describe(operation: AdminOperation, error: unknown, response: unknown): Json {
  const { needs, scope, summary, body } = operation;
  const parameters = [...pathParameters(operation), ...queryParameters(operation)];
  return {
    operationId: operationId(operation),
    summary,
    tags: [operation.path.split("/")[1]],
    "x-role": needs === "anyone" ? needs : rolesWith(needs)[0],
    "x-scope": scope,
    security: needs === "anyone" ? [] : [{ adminToken: [] }, { session: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: schemaOf(body) } },
      },
    }),
    responses: {
      ...successOf(operation, response),
      default: {
        description: "An error. docs/errors.md lists all errors.",
        content: { "application/json": { schema: error } },
      },
    },
  };
}

function successOf({ response, status }: AdminOperation, schema: unknown): Json {
  if (response === null) {
    return { [status ?? 204]: { description: status === 303 ? "A redirect." : "No content." } };
  }
  const content =
    typeof response === "string" ? { [response]: {} } : { "application/json": { schema } };
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
