/** GET /openapi.json: the interface in OpenAPI 3.1, made from the schemas that validate. */
import { z } from "zod";
import { eventsQuery } from "../admin/admin-api.ts";
import { type OwnRouteName, type Route, type RouteName, routes } from "../http/routes.ts";
import { editsBody, editsForm } from "./edits.ts";
import { embeddingsBody, engineEmbeddingsBody } from "./embeddings-body.ts";
import { generationsBody } from "./generations.ts";
import { examples } from "./openapi-examples.ts";
import * as answers from "./response-schemas.ts";

type Json = Record<string, unknown>;

/** OpenAPI 3.1 speaks JSON Schema 2020-12, which is what zod prints. Every optional field may be null. */
function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema, ...printed } = z.toJSONSchema(schema, { io }) as Json;
  return io === "input" ? withNulls(printed) : printed;
}

function withNulls(schema: Json): Json {
  const { properties, required } = schema as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  if (!properties) return schema;
  const nullable = Object.entries(properties).map(([name, property]) => [
    name,
    required?.includes(name) ? property : { anyOf: [property, { type: "null" }] },
  ]);
  return { ...schema, properties: Object.fromEntries(nullable) };
}

/** zod knows no files; the form's text fields come from the schema, its files from here. */
function formSchema(): Json {
  const text = schemaOf(editsForm, "input") as { properties: Json; required: string[] };
  const file = { type: "string", contentMediaType: "application/octet-stream" };
  return {
    ...text,
    properties: {
      ...text.properties,
      image: {
        description: "One file, or several as `image`, `image[]` or `image[0]`.",
        anyOf: [file, { type: "array", items: file, maxItems: 16 }],
      },
      mask: { ...file, description: "PNG; where it is transparent the first picture changes." },
    },
    required: [...text.required, "image"],
  };
}

const requestBodies: Partial<Record<OwnRouteName, Json>> = {
  embeddings: { "application/json": { schema: schemaOf(embeddingsBody, "input") } },
  engineEmbeddings: { "application/json": { schema: schemaOf(engineEmbeddingsBody, "input") } },
  generations: { "application/json": { schema: schemaOf(generationsBody, "input") } },
  edits: {
    "multipart/form-data": { schema: formSchema() },
    "application/json": { schema: schemaOf(editsBody, "input") },
  },
};

const responses: Record<OwnRouteName, { type: string; schema?: z.ZodType }> = {
  embeddings: { type: "application/json", schema: answers.embeddingsResponse },
  engineEmbeddings: { type: "application/json", schema: answers.embeddingsResponse },
  generations: { type: "application/json", schema: answers.imagesResponse },
  edits: { type: "application/json", schema: answers.imagesResponse },
  models: { type: "application/json", schema: answers.modelsResponse },
  model: { type: "application/json", schema: answers.modelResponse },
  engines: { type: "application/json", schema: answers.enginesResponse },
  engine: { type: "application/json", schema: answers.engineResponse },
  result: { type: "application/json", schema: answers.imagesResponse },
  imageFile: { type: "image/*" },
  adminTargets: { type: "application/json", schema: answers.targetsResponse },
  adminEvents: { type: "application/json", schema: answers.eventsResponse },
  adminWebhooks: { type: "application/json", schema: answers.webhooksResponse },
  adminWebhookTest: { type: "application/json", schema: answers.webhookTestResponse },
  health: { type: "application/json", schema: answers.statusResponse },
  ready: { type: "application/json", schema: answers.statusResponse },
  openapi: { type: "application/json" },
  welcome: { type: "text/html" },
};

/** What may stand behind the question mark. */
const queryParameters: Partial<Record<RouteName, z.ZodType>> = { adminEvents: eventsQuery };

const securityOf = ({ path }: Route): Json => {
  if (/^\/(?:v1|openai)\//.test(path)) return {};
  return { security: path.startsWith("/admin/") ? [{ admin: [] }] : [] };
};
const streams = (name: OwnRouteName): boolean => name === "generations" || name === "edits";

function operationOf(row: Route): Json {
  const name = row.sameAs ?? (row.name as OwnRouteName);
  const reply = responses[name];
  const schema = reply.schema && { schema: schemaOf(reply.schema, "output") };
  const body = requestBodies[name];
  const parameters = parametersOf(row);
  const shown = examples[name];
  return {
    operationId: row.name,
    summary: row.summary,
    ...securityOf(row),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: withExample(body, shown?.request) } }),
    responses: {
      200: {
        description: "Done.",
        content: {
          ...withExample({ [reply.type]: { ...schema } }, shown?.answer),
          ...(streams(name) && {
            "text/event-stream": {
              schema: {
                type: "string",
                description: "With `stream: true`: partial_image and completed events.",
              },
            },
          }),
        },
      },
      default: {
        description: "A fault. docs/errors.md lists them all.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

function parametersOf({ name, path }: Route): Json[] {
  const parts = [...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => ({
    name: part,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const query = queryParameters[name];
  const { properties = {} } = query ? (schemaOf(query, "output") as { properties?: Json }) : {};
  const asked = Object.entries(properties).map(([key, schema]) => {
    const { description, ...rest } = schema as Json;
    return { name: key, in: "query", required: false, description, schema: rest };
  });
  return [...parts, ...asked];
}

function withExample(content: Json, example: unknown): Json {
  if (example === undefined || !content["application/json"]) return content;
  return { ...content, "application/json": { ...(content["application/json"] as Json), example } };
}

function buildPaths(): Json {
  const paths: Record<string, Json> = {};
  for (const row of routes) {
    paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: operationOf(row) };
  }
  return paths;
}

export const buildOpenapi = (serverUrl: string, version: string): Json => ({
  openapi: "3.1.0",
  info: {
    title: "Vexel",
    version,
    description: "A self-hosted, OpenAI-compatible gateway for embeddings and images.",
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: serverUrl || "/" }],
  security: [{ bearer: [] }, { apiKey: [] }],
  paths: buildPaths(),
  components: {
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer" },
      apiKey: { type: "apiKey", in: "header", name: "api-key" },
      admin: { type: "http", scheme: "bearer", description: "The operator's: VEXEL_ADMIN_KEY." },
    },
    schemas: { Error: schemaOf(answers.errorResponse, "output") },
  },
});
