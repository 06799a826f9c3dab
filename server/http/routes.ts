/**
 * The routing table (ARCHITECTURE.md, step 1): one row per method and path, liveness (`/healthz`) and readiness
 * (`/readyz`) included. A test compares docs/api.md with it.
 */

import type { Handler, ParametersOf, RouteRow } from "./route.ts";

/** The rows of the routing table for routes with their own request and response: the API, liveness and readiness. */
const gatewayRoutes = [
  {
    name: "embeddings",
    method: "POST",
    path: "/v1/embeddings",
    model: true,
    summary: "Create embeddings for one or more inputs.",
  },
  {
    name: "engineEmbeddings",
    method: "POST",
    path: "/v1/engines/{model}/embeddings",
    model: true,
    summary: "Create embeddings, for older clients that name the model in the path.",
  },
  {
    name: "generations",
    method: "POST",
    path: "/v1/images/generations",
    model: true,
    summary: "Generate images from a prompt.",
  },
  {
    name: "edits",
    method: "POST",
    path: "/v1/images/edits",
    model: true,
    summary: "Edit images with a prompt.",
  },
  {
    name: "result",
    method: "GET",
    path: "/v1/images/results/{id}",
    summary: "Get the stored response of an image request by its request ID.",
  },
  {
    name: "models",
    method: "GET",
    path: "/v1/models",
    summary: "List the models that the API key may use.",
  },
  { name: "model", method: "GET", path: "/v1/models/{model}", summary: "Get one model." },
  {
    name: "engines",
    method: "GET",
    path: "/v1/engines",
    summary: "List the same models as engines, for older clients.",
  },
  {
    name: "engine",
    method: "GET",
    path: "/v1/engines/{model}",
    summary: "Get one model as an engine, for older clients.",
  },
  {
    name: "imageFile",
    method: "GET",
    path: "/files/images/{name}",
    summary: "Get an image by a link from a response. Links expire.",
  },
  {
    name: "health",
    method: "GET",
    path: "/healthz",
    summary: "Liveness: 200 while the process runs.",
  },
  {
    name: "ready",
    method: "GET",
    path: "/readyz",
    summary: "Readiness: 200 while requests are accepted.",
  },
  {
    name: "metrics",
    method: "GET",
    path: "/metrics",
    summary: "Metrics for Prometheus. Needs the metrics token.",
  },
  {
    name: "openapi",
    method: "GET",
    path: "/openapi.json",
    summary: "Get this API as an OpenAPI 3.1 document.",
  },
  { name: "welcome", method: "GET", path: "/", summary: "A start page for browsers." },
] as const satisfies readonly RouteRow[];

/** An alias has the same requests and responses as the route that `sameAs` names. */
interface AliasRow extends RouteRow {
  readonly sameAs: (typeof gatewayRoutes)[number]["name"];
}

/**
 * The rows of the routing table for clients of Azure OpenAI. Each is an alias of another route. By prefix of the name:
 *
 * - `deployment…`, with an api-version: /openai/deployments/{model}/embeddings, /openai/models
 * - `undeployed…`, the same without a deployment in the path: /openai/embeddings
 * - `azure…`, the v1 API: /openai/v1/embeddings
 */
const azureRoutes = [
  {
    name: "deploymentEmbeddings",
    method: "POST",
    path: "/openai/deployments/{model}/embeddings",
    sameAs: "embeddings",
    model: true,
    summary: "The same as POST /v1/embeddings, for Azure clients.",
  },
  {
    name: "deploymentGenerations",
    method: "POST",
    path: "/openai/deployments/{model}/images/generations",
    sameAs: "generations",
    model: true,
    summary: "The same as POST /v1/images/generations, for Azure clients.",
  },
  {
    name: "deploymentEdits",
    method: "POST",
    path: "/openai/deployments/{model}/images/edits",
    sameAs: "edits",
    model: true,
    summary: "The same as POST /v1/images/edits, for Azure clients.",
  },
  {
    name: "undeployedEmbeddings",
    method: "POST",
    path: "/openai/embeddings",
    sameAs: "embeddings",
    model: true,
    summary: "The same as POST /v1/embeddings, for Azure clients without a deployment in the path.",
  },
  {
    name: "undeployedGenerations",
    method: "POST",
    path: "/openai/images/generations",
    sameAs: "generations",
    model: true,
    summary:
      "The same as POST /v1/images/generations, for Azure clients without a deployment in the path.",
  },
  {
    name: "undeployedEdits",
    method: "POST",
    path: "/openai/images/edits",
    sameAs: "edits",
    model: true,
    summary:
      "The same as POST /v1/images/edits, for Azure clients without a deployment in the path.",
  },
  {
    name: "azureEmbeddings",
    method: "POST",
    path: "/openai/v1/embeddings",
    sameAs: "embeddings",
    model: true,
    summary: "The same as POST /v1/embeddings, under the path of Azure's v1 API.",
  },
  {
    name: "azureGenerations",
    method: "POST",
    path: "/openai/v1/images/generations",
    sameAs: "generations",
    model: true,
    summary: "The same as POST /v1/images/generations, under the path of Azure's v1 API.",
  },
  {
    name: "azureEdits",
    method: "POST",
    path: "/openai/v1/images/edits",
    sameAs: "edits",
    model: true,
    summary: "The same as POST /v1/images/edits, under the path of Azure's v1 API.",
  },
  {
    name: "azureModels",
    method: "GET",
    path: "/openai/v1/models",
    sameAs: "models",
    summary: "The same as GET /v1/models, under the path of Azure's v1 API.",
  },
  {
    name: "azureModel",
    method: "GET",
    path: "/openai/v1/models/{model}",
    sameAs: "model",
    summary: "The same as GET /v1/models/{model}, under the path of Azure's v1 API.",
  },
  {
    name: "deploymentModels",
    method: "GET",
    path: "/openai/models",
    sameAs: "models",
    summary: "The same as GET /v1/models, for Azure clients.",
  },
  {
    name: "deploymentModel",
    method: "GET",
    path: "/openai/models/{model}",
    sameAs: "model",
    summary: "The same as GET /v1/models/{model}, for Azure clients.",
  },
  {
    name: "deploymentEngines",
    method: "GET",
    path: "/openai/engines",
    sameAs: "engines",
    summary: "The same as GET /v1/engines, for older Azure clients.",
  },
  // Before the next row, whose model id may contain slashes.
  {
    name: "deploymentEngineEmbeddings",
    method: "POST",
    path: "/openai/engines/{model}/embeddings",
    sameAs: "engineEmbeddings",
    model: true,
    summary: "The same as POST /v1/engines/{model}/embeddings, for older Azure clients.",
  },
  {
    name: "deploymentEngine",
    method: "GET",
    path: "/openai/engines/{model}",
    sameAs: "engine",
    summary: "The same as GET /v1/engines/{model}, for older Azure clients.",
  },
] as const satisfies readonly AliasRow[];

const table = [...gatewayRoutes, ...azureRoutes] as const;
type Row = (typeof table)[number];

/** The names of routes that are not aliases of another route. */
export type OwnRouteName = (typeof gatewayRoutes)[number]["name"];
export type RouteName = Row["name"];

export interface Route extends RouteRow {
  readonly name: RouteName;
  /** The route of which this one is an alias: it has the same requests and responses. */
  readonly sameAs?: OwnRouteName;
}

export const routes: readonly Route[] = table;

/** One handler per route, with the parameters of its path. */
export type Handlers = {
  readonly [R in Row as R["name"]]: Handler<ParametersOf<R["path"]>>;
};
