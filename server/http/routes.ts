/** Step 1: the routing table: one row per route. A test compares docs/api.md with it. */

export type RouteName = OwnRouteName | AliasName;

/** Routes with their own request and response. */
export type OwnRouteName =
  | "embeddings"
  | "engineEmbeddings"
  | "generations"
  | "edits"
  | "result"
  | "models"
  | "model"
  | "engines"
  | "engine"
  | "imageFile"
  | "adminTargets"
  | "adminEvents"
  | "adminWebhooks"
  | "adminWebhookTest"
  | "health"
  | "ready"
  | "openapi"
  | "welcome";

/**
 * Paths of Azure OpenAI clients: `deployment…` with an api-version, `undeployed…` the same without a deployment in the
 * path, `azure…` of the v1 API.
 */
export type AliasName =
  | "deploymentEmbeddings"
  | "deploymentGenerations"
  | "deploymentEdits"
  | "azureEmbeddings"
  | "azureGenerations"
  | "azureEdits"
  | "azureModels"
  | "azureModel"
  | "deploymentModels"
  | "deploymentModel"
  | "deploymentEngines"
  | "deploymentEngine"
  | "undeployedEmbeddings"
  | "undeployedGenerations"
  | "undeployedEdits";

export interface Route {
  readonly name: RouteName;
  readonly method: "GET" | "POST";
  /** With `{name}` for a path parameter, which may contain encoded or plain slashes, but does not begin with one. */
  readonly path: string;
  readonly summary: string;
  /** A request for a model, which has a row in the ledger. */
  readonly model?: true;
  /** The route of which this one is an alias: it has the same requests and responses. */
  readonly sameAs?: OwnRouteName;
}

export const routes: readonly Route[] = [
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
  {
    name: "deploymentEngine",
    method: "GET",
    path: "/openai/engines/{model}",
    sameAs: "engine",
    summary: "The same as GET /v1/engines/{model}, for older Azure clients.",
  },
  {
    name: "imageFile",
    method: "GET",
    path: "/files/images/{name}",
    summary: "Get an image by a link from a response. Links expire.",
  },
  {
    name: "adminTargets",
    method: "GET",
    path: "/admin/targets",
    summary: "List every target with its health.",
  },
  {
    name: "adminEvents",
    method: "GET",
    path: "/admin/events",
    summary: "List events, newest first.",
  },
  {
    name: "adminWebhooks",
    method: "GET",
    path: "/admin/webhooks",
    summary: "List the webhooks with the state of their deliveries.",
  },
  {
    name: "adminWebhookTest",
    method: "POST",
    path: "/admin/webhooks/{id}/test",
    summary: "Send an event of type webhook.test to one webhook now.",
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
    name: "openapi",
    method: "GET",
    path: "/openapi.json",
    summary: "Get this API as an OpenAPI 3.1 document.",
  },
  { name: "welcome", method: "GET", path: "/", summary: "A start page for browsers." },
];

const matchers = routes.map((row) => ({
  row,
  pattern: new RegExp(`^${row.path.replace(/\{\w+\}/g, "([^/].*)")}$`),
}));
const exact = new Map(routes.map((row) => [row.path, row]));

export interface RouteMatch {
  readonly row: Route;
  /** The path parameter, still percent-encoded. */
  readonly parameter: string;
}

/** A path that matches no route is matched again with repeated slashes folded: some clients double them. */
export function matchRoute(path: string): RouteMatch | undefined {
  const found = find(path);
  // No model id ends with a slash, so a parameter that does contains a doubled one: `/deployments/m//embeddings`.
  if (found && !found.parameter.endsWith("/")) return found;
  return foldedMatch(path) ?? found;
}

function find(path: string): RouteMatch | undefined {
  const row = exact.get(path);
  if (row) return { row, parameter: "" };
  for (const { row: candidate, pattern } of matchers) {
    const found = pattern.exec(path);
    if (found) return { row: candidate, parameter: found[1] ?? "" };
  }
  return undefined;
}

/** Applies only to the routes of OpenAI and Azure: proxies may protect other routes by path prefix. */
function foldedMatch(path: string): RouteMatch | undefined {
  const folded = path.replace(/\/{2,}/g, "/");
  const found = folded !== path && /^\/(?:v1|openai)\//.test(folded) ? find(folded) : undefined;
  // In `/v1/engines//embeddings` the empty segment is a missing model id, and `embeddings` is not an engine id.
  if (found?.row.path.endsWith("}") && path.endsWith(`//${found.parameter}`)) return undefined;
  return found;
}
