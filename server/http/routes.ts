/** Step 1: every address the gateway answers to. One row each; docs/api.md is held to this table by a test. */

export type RouteName = OwnRouteName | AliasName;

/** Routes with a request and a response of their own. */
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
 * The paths of clients for Azure: `deployment…` of api-version, `undeployed…` the same without a deployment in the path,
 * `azure…` of its v1 API. `formerImageFile`: image links of earlier versions, which clients and stored responses hold.
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
  | "undeployedEdits"
  | "formerImageFile";

export interface Route {
  readonly name: RouteName;
  readonly method: "GET" | "POST";
  /** With `{name}` where a part varies; such a part may hold encoded or plain slashes, but does not begin with one. */
  readonly path: string;
  readonly summary: string;
  /** A call of a model, which has a row in the ledger. */
  readonly model?: true;
  /** Another path to the same: requests and responses are those of this route. */
  readonly sameAs?: OwnRouteName;
}

export const routes: readonly Route[] = [
  {
    name: "embeddings",
    method: "POST",
    path: "/v1/embeddings",
    model: true,
    summary: "Turn text into vectors.",
  },
  {
    name: "engineEmbeddings",
    method: "POST",
    path: "/v1/engines/{model}/embeddings",
    model: true,
    summary: "The same, for older clients that put the model into the address.",
  },
  {
    name: "generations",
    method: "POST",
    path: "/v1/images/generations",
    model: true,
    summary: "Draw pictures from a prompt.",
  },
  {
    name: "edits",
    method: "POST",
    path: "/v1/images/edits",
    model: true,
    summary: "Change pictures.",
  },
  {
    name: "result",
    method: "GET",
    path: "/v1/images/results/{id}",
    summary: "The answer to an image call that was kept, by the id of the call.",
  },
  { name: "models", method: "GET", path: "/v1/models", summary: "The models your key may use." },
  { name: "model", method: "GET", path: "/v1/models/{model}", summary: "One of them." },
  {
    name: "engines",
    method: "GET",
    path: "/v1/engines",
    summary: "The same list, for older clients that call models engines.",
  },
  {
    name: "engine",
    method: "GET",
    path: "/v1/engines/{model}",
    summary: "One of them, for older clients.",
  },
  {
    name: "deploymentEmbeddings",
    method: "POST",
    path: "/openai/deployments/{model}/embeddings",
    sameAs: "embeddings",
    model: true,
    summary: "The same as POST /v1/embeddings, as clients for Azure call it.",
  },
  {
    name: "deploymentGenerations",
    method: "POST",
    path: "/openai/deployments/{model}/images/generations",
    sameAs: "generations",
    model: true,
    summary: "The same as POST /v1/images/generations, as clients for Azure call it.",
  },
  {
    name: "deploymentEdits",
    method: "POST",
    path: "/openai/deployments/{model}/images/edits",
    sameAs: "edits",
    model: true,
    summary: "The same as POST /v1/images/edits, as clients for Azure call it.",
  },
  {
    name: "undeployedEmbeddings",
    method: "POST",
    path: "/openai/embeddings",
    sameAs: "embeddings",
    model: true,
    summary: "The same as POST /v1/embeddings, for clients for Azure that name no deployment.",
  },
  {
    name: "undeployedGenerations",
    method: "POST",
    path: "/openai/images/generations",
    sameAs: "generations",
    model: true,
    summary:
      "The same as POST /v1/images/generations, for clients for Azure that name no deployment.",
  },
  {
    name: "undeployedEdits",
    method: "POST",
    path: "/openai/images/edits",
    sameAs: "edits",
    model: true,
    summary: "The same as POST /v1/images/edits, for clients for Azure that name no deployment.",
  },
  {
    name: "azureEmbeddings",
    method: "POST",
    path: "/openai/v1/embeddings",
    sameAs: "embeddings",
    model: true,
    summary: "The same as POST /v1/embeddings, under Azure's newer path.",
  },
  {
    name: "azureGenerations",
    method: "POST",
    path: "/openai/v1/images/generations",
    sameAs: "generations",
    model: true,
    summary: "The same as POST /v1/images/generations, under Azure's newer path.",
  },
  {
    name: "azureEdits",
    method: "POST",
    path: "/openai/v1/images/edits",
    sameAs: "edits",
    model: true,
    summary: "The same as POST /v1/images/edits, under Azure's newer path.",
  },
  {
    name: "azureModels",
    method: "GET",
    path: "/openai/v1/models",
    sameAs: "models",
    summary: "The same as GET /v1/models, under Azure's newer path.",
  },
  {
    name: "azureModel",
    method: "GET",
    path: "/openai/v1/models/{model}",
    sameAs: "model",
    summary: "The same as GET /v1/models/{model}, under Azure's newer path.",
  },
  {
    name: "deploymentModels",
    method: "GET",
    path: "/openai/models",
    sameAs: "models",
    summary: "The same as GET /v1/models, as clients for Azure call it.",
  },
  {
    name: "deploymentModel",
    method: "GET",
    path: "/openai/models/{model}",
    sameAs: "model",
    summary: "The same as GET /v1/models/{model}, as clients for Azure call it.",
  },
  {
    name: "deploymentEngines",
    method: "GET",
    path: "/openai/engines",
    sameAs: "engines",
    summary: "The same as GET /v1/engines, as older clients for Azure call it.",
  },
  {
    name: "deploymentEngine",
    method: "GET",
    path: "/openai/engines/{model}",
    sameAs: "engine",
    summary: "The same as GET /v1/engines/{model}, as older clients for Azure call it.",
  },
  {
    name: "imageFile",
    method: "GET",
    path: "/files/images/{name}",
    summary: "An image of a response with links. Expires.",
  },
  {
    name: "formerImageFile",
    method: "GET",
    path: "/pictures/{name}",
    sameAs: "imageFile",
    summary: "The same as GET /files/images/{name}, for links made by earlier versions.",
  },
  {
    name: "adminTargets",
    method: "GET",
    path: "/admin/targets",
    summary: "Every target: whether it serves, and what is known of it.",
  },
  {
    name: "adminEvents",
    method: "GET",
    path: "/admin/events",
    summary: "What happened, newest first.",
  },
  {
    name: "adminWebhooks",
    method: "GET",
    path: "/admin/webhooks",
    summary: "Where events are sent, and how that goes.",
  },
  {
    name: "adminWebhookTest",
    method: "POST",
    path: "/admin/webhooks/{id}/test",
    summary: "Send an event of type webhook.test to one of them, at once.",
  },
  { name: "health", method: "GET", path: "/healthz", summary: "200 while the process lives." },
  { name: "ready", method: "GET", path: "/readyz", summary: "200 while calls are taken." },
  {
    name: "openapi",
    method: "GET",
    path: "/openapi.json",
    summary: "This interface, as OpenAPI 3.1.",
  },
  { name: "welcome", method: "GET", path: "/", summary: "A page for a person with a browser." },
];

const matchers = routes.map((row) => ({
  row,
  pattern: new RegExp(`^${row.path.replace(/\{\w+\}/g, "([^/].*)")}$`),
}));
const exact = new Map(routes.map((row) => [row.path, row]));

export interface RouteMatch {
  readonly row: Route;
  /** The varying part, as it stood in the address: still encoded. */
  readonly parameter: string;
}

/** A path that matches no route as it stands is matched with its repeated slashes folded: some clients double them. */
export function matchRoute(path: string): RouteMatch | undefined {
  const found = find(path);
  // No model id ends with a slash: `/deployments/m//embeddings` is a doubled one as well.
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

/** Of OpenAI's and Azure's routes alone: proxies in front may guard the others by the beginning of their path. */
function foldedMatch(path: string): RouteMatch | undefined {
  const folded = path.replace(/\/{2,}/g, "/");
  const found = folded !== path && /^\/(?:v1|openai)\//.test(folded) ? find(folded) : undefined;
  // The empty part in `/v1/engines//embeddings` is a missing model, and `embeddings` no engine.
  if (found?.row.path.endsWith("}") && path.endsWith(`//${found.parameter}`)) return undefined;
  return found;
}
