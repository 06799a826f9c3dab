/**
 * The rows of the routing table for clients of Azure OpenAI. Each is an alias of another route. By prefix of the name:
 *
 * - `deployment…`, with an api-version: /openai/deployments/{model}/embeddings, /openai/models
 * - `undeployed…`, the same without a deployment in the path: /openai/embeddings
 * - `azure…`, the v1 API: /openai/v1/embeddings
 */
import type { gatewayRoutes } from "./gateway-routes.ts";
import type { RouteRow } from "./route.ts";

/** An alias has the same requests and responses as the route that `sameAs` names. */
interface AliasRow extends RouteRow {
  readonly sameAs: (typeof gatewayRoutes)[number]["name"];
}

export const azureRoutes = [
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
