/** The rows of the routing table for routes with their own request and response: the API, liveness and readiness. */
import type { RouteRow } from "./route.ts";

export const gatewayRoutes = [
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
