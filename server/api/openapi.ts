/**
 * GET /openapi.json: the OpenAPI 3.1 document. Its schemas are those of bodies as clients send them, in which `model`
 * is optional. The gateway fills in the default model and then validates with a schema of the same fields that requires
 * `model`.
 */
import { z } from "zod";
import { type OwnRouteName, type Route, routes } from "../http/routes.ts";
import { editsBody, editsForm } from "./edits.ts";
import { embeddingsBody } from "./embeddings.ts";
import { generationsBody } from "./generations.ts";
import { examples } from "./openapi-examples.ts";
import { headerParameters, responseHeaders } from "./openapi-headers.ts";
import * as schemas from "./response-schemas.ts";
import { imageJobResponse, storedBodies, storedResponses } from "./stored-schemas.ts";

type Json = Record<string, unknown>;

/** OpenAPI 3.1 uses JSON Schema 2020-12, which zod generates. Every optional field of a request may be null. */
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

const file = { type: "string", contentMediaType: "application/octet-stream" };

/** zod has no type for files: the text fields of the form come from the schema, its files from here. */
function formSchema(): Json {
  const text = schemaOf(editsForm, "input") as { properties: Json; required: string[] };
  return {
    ...text,
    properties: {
      ...text.properties,
      image: {
        description: "One file, or several as `image`, `image[]` or `image[0]`.",
        anyOf: [file, { type: "array", items: file, maxItems: 16 }],
      },
      mask: {
        ...file,
        description: "A PNG; its transparent pixels mark where the first image is edited.",
      },
      markup: {
        ...file,
        description:
          "A transparent PNG of the size of the first image, with drawings that guide the edit. Not with mask.",
      },
    },
    required: [...text.required, "image"],
  };
}

/** A form with one file. */
function fileFormSchema(form: z.ZodType, field: string): Json {
  const text = schemaOf(form, "input") as { properties: Json; required?: string[] };
  return {
    ...text,
    properties: { ...text.properties, [field]: file },
    required: [...(text.required ?? []), field],
  };
}

const storedRequestBodies = Object.fromEntries(
  Object.entries(storedBodies).map(([name, body]) => [
    name,
    "json" in body
      ? { "application/json": { schema: schemaOf(body.json, "input") } }
      : { "multipart/form-data": { schema: fileFormSchema(body.form, body.file) } },
  ]),
);

/** The maximum number of inputs is a setting, and not in the document. */
const embeddings = embeddingsBody(Number.POSITIVE_INFINITY);

const generationBody = { "application/json": { schema: schemaOf(generationsBody, "input") } };
const editBody = {
  "multipart/form-data": { schema: formSchema() },
  "application/json": { schema: schemaOf(editsBody, "input") },
};

const requestBodies: Partial<Record<OwnRouteName, Json>> = {
  ...storedRequestBodies,
  embeddings: { "application/json": { schema: schemaOf(embeddings.schema, "input") } },
  engineEmbeddings: { "application/json": { schema: schemaOf(embeddings.engineSchema, "input") } },
  generations: generationBody,
  edits: editBody,
  generationTask: generationBody,
  editTask: editBody,
};

const responses: Record<OwnRouteName, { type: string; schema?: z.ZodType; status?: 202 }> = {
  ...storedResponses,
  embeddings: { type: "application/json", schema: schemas.embeddingsResponse },
  engineEmbeddings: { type: "application/json", schema: schemas.embeddingsResponse },
  generations: { type: "application/json", schema: schemas.imagesResponse },
  edits: { type: "application/json", schema: schemas.imagesResponse },
  models: { type: "application/json", schema: schemas.modelsResponse },
  model: { type: "application/json", schema: schemas.modelResponse },
  engines: { type: "application/json", schema: schemas.enginesResponse },
  engine: { type: "application/json", schema: schemas.engineResponse },
  result: { type: "application/json", schema: schemas.imagesResponse },
  imageFile: { type: "image/*" },
  health: { type: "application/json", schema: schemas.statusResponse },
  ready: { type: "application/json", schema: schemas.statusResponse },
  metrics: { type: "text/plain" },
  openapi: { type: "application/json" },
  root: { type: "text/html" },
};

/** The group of an operation: `images` for `/v1/images/edits`, `aliases` for the paths of other APIs. */
function tagOf({ path, sameAs }: Route): string {
  const [, version, name = ""] = path.split("/");
  if (version === "v1") return name;
  return sameAs === undefined ? "gateway" : "aliases";
}

/** Aliases exist only of routes that need an API key. */
const securityOf = ({ path, sameAs }: Route): Json =>
  sameAs !== undefined || path.startsWith("/v1/") ? {} : { security: [] };
const streams = (name: OwnRouteName): boolean => name === "generations" || name === "edits";

/** The response to a request with `async: true`, or with `Prefer: respond-async`. */
const acceptedJob = {
  description: "Accepted: the response is fetched later, from the job.",
  content: { "application/json": { schema: schemaOf(imageJobResponse, "output") } },
};

function operationOf(row: Route): Json {
  const name = row.sameAs ?? (row.name as OwnRouteName);
  const response = responses[name];
  const schema = response.schema && { schema: schemaOf(response.schema, "output") };
  const body = requestBodies[name];
  const parameters = [...parametersOf(row), ...headerParameters(name)];
  const example = examples[name];
  return {
    operationId: row.name,
    summary: row.summary,
    tags: [tagOf(row)],
    ...securityOf(row),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: withExample(body, example?.request) } }),
    responses: {
      [response.status ?? 200]: {
        description: "Success.",
        ...responseHeaders(name),
        content: {
          ...withExample({ [response.type]: { ...schema } }, example?.response),
          ...(streams(name) && {
            "text/event-stream": {
              schema: {
                type: "string",
                description:
                  "With `stream: true`: server-sent events of type partial_image and completed.",
              },
            },
          }),
        },
      },
      ...(streams(name) && { 202: acceptedJob }),
      default: {
        description: "An error. docs/errors.md lists all errors.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

const parametersOf = ({ path }: Route): Json[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => ({
    name: part,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));

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

/** `serverUrl`: empty: the address from which the document was loaded. */
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
    },
    schemas: { Error: schemaOf(schemas.errorResponse, "output") },
  },
});
