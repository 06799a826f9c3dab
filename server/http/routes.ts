/**
 * The routing table: one row per method and path, liveness (`/healthz`) and readiness (`/readyz`) included. A test
 * compares docs/api.md with it.
 */

import type { Handler, ParametersOf, RouteRow } from "./route.ts";
import { type StoredAliasName, storedAliases, storedRoutes } from "./stored-routes.ts";

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
  { name: "root", method: "GET", path: "/", summary: "Redirect browsers to the console." },
] as const satisfies readonly RouteRow[];

/** A row with the same requests and responses as the row that `sameAs` names. `use`: what the alias is for. */
function alias<const Name extends string, const Path extends RouteRow["path"]>(
  name: Name,
  sameAs: OwnRouteName,
  path: Path,
  use: string,
) {
  const row = gatewayRoutes.find((each) => each.name === sameAs) as RouteRow;
  return { ...row, name, path, sameAs, summary: `The same as ${row.method} ${row.path}, ${use}.` };
}

const forAzure = "for Azure clients";
const forOlderAzure = "for older Azure clients";
const withoutDeployment = "for Azure clients without a deployment in the path";
const azureWithBaseUrl = "for Azure clients whose base URL ends with /v1";
const azureWithV1BaseUrl = "for Azure clients whose base URL ends with /openai/v1";
const azureV1 = "under the path of Azure's v1 API";
const withoutVersion = "for clients whose base URL has no /v1";

/**
 * The rows of the routing table for clients of Azure OpenAI. Each is an alias of another route. By prefix of the name:
 *
 * - `deployment…`, with an api-version: /openai/deployments/{model}/embeddings, /openai/models
 * - `undeployed…`, the same without a deployment in the path: /openai/embeddings
 * - `azure…`, the v1 API: /openai/v1/embeddings
 * - `v1Deployment…`, for clients whose base URL ends with /v1: /v1/deployments/{model}/embeddings
 * - `azureDeployment…`, for clients whose base URL ends with /openai/v1: /openai/v1/deployments/{model}/embeddings
 */
const azureRoutes = [
  alias("deploymentEmbeddings", "embeddings", "/openai/deployments/{model}/embeddings", forAzure),
  alias(
    "deploymentGenerations",
    "generations",
    "/openai/deployments/{model}/images/generations",
    forAzure,
  ),
  alias("deploymentEdits", "edits", "/openai/deployments/{model}/images/edits", forAzure),
  alias(
    "v1DeploymentEmbeddings",
    "embeddings",
    "/v1/deployments/{model}/embeddings",
    azureWithBaseUrl,
  ),
  alias(
    "v1DeploymentGenerations",
    "generations",
    "/v1/deployments/{model}/images/generations",
    azureWithBaseUrl,
  ),
  alias("v1DeploymentEdits", "edits", "/v1/deployments/{model}/images/edits", azureWithBaseUrl),
  alias(
    "azureDeploymentEmbeddings",
    "embeddings",
    "/openai/v1/deployments/{model}/embeddings",
    azureWithV1BaseUrl,
  ),
  alias(
    "azureDeploymentGenerations",
    "generations",
    "/openai/v1/deployments/{model}/images/generations",
    azureWithV1BaseUrl,
  ),
  alias(
    "azureDeploymentEdits",
    "edits",
    "/openai/v1/deployments/{model}/images/edits",
    azureWithV1BaseUrl,
  ),
  alias("undeployedEmbeddings", "embeddings", "/openai/embeddings", withoutDeployment),
  alias("undeployedGenerations", "generations", "/openai/images/generations", withoutDeployment),
  alias("undeployedEdits", "edits", "/openai/images/edits", withoutDeployment),
  alias("azureEmbeddings", "embeddings", "/openai/v1/embeddings", azureV1),
  alias("azureGenerations", "generations", "/openai/v1/images/generations", azureV1),
  alias("azureEdits", "edits", "/openai/v1/images/edits", azureV1),
  alias("azureModels", "models", "/openai/v1/models", azureV1),
  alias("azureModel", "model", "/openai/v1/models/{model}", azureV1),
  alias("deploymentModels", "models", "/openai/models", forAzure),
  alias("deploymentModel", "model", "/openai/models/{model}", forAzure),
  alias("deploymentEngines", "engines", "/openai/engines", forOlderAzure),
  // Before the next row, whose model id may contain slashes.
  alias(
    "deploymentEngineEmbeddings",
    "engineEmbeddings",
    "/openai/engines/{model}/embeddings",
    forOlderAzure,
  ),
  alias("deploymentEngine", "engine", "/openai/engines/{model}", forOlderAzure),
] as const;

/** Served without `/v1` as well, as LiteLLM does: its clients often have a base URL without a version. */
const unversioned = [
  "embeddings",
  "engineEmbeddings",
  "generations",
  "edits",
  "models",
  "model",
] as const satisfies readonly OwnRouteName[];

/** The name of a route without `/v1` in its path. */
export type UnversionedName = `unversioned${Capitalize<(typeof unversioned)[number]>}`;

const unversionedAliases = unversioned.map((sameAs) => {
  const { path } = gatewayRoutes.find(({ name }) => name === sameAs) as RouteRow;
  const name = `unversioned${sameAs.charAt(0).toUpperCase()}${sameAs.slice(1)}` as UnversionedName;
  return alias(name, sameAs, path.replace("/v1", "") as `/${string}`, withoutVersion);
});

const ownRoutes = [...gatewayRoutes, ...storedRoutes] as const;
type OwnRow = (typeof ownRoutes)[number];

/** The names of routes that are not aliases of another route. */
export type OwnRouteName = OwnRow["name"];

export type RouteName =
  | OwnRouteName
  | (typeof azureRoutes)[number]["name"]
  | StoredAliasName
  | UnversionedName;

export interface Route extends RouteRow {
  readonly name: RouteName;
  /** The route of which this one is an alias: it has the same handler, requests and responses. */
  readonly sameAs?: OwnRouteName;
}

export const routes: readonly Route[] = [
  ...ownRoutes,
  ...azureRoutes,
  ...storedAliases,
  ...unversionedAliases,
];

/** One handler per route that is not an alias. An alias may also have the parameter `model` in its path. */
export type Handlers = {
  readonly [R in OwnRow as R["name"]]: Handler<ParametersOf<R["path"]>>;
};
