/** The rows of the routing table for what clients store: files, uploads, jobs and webhook endpoints. */

import type { RouteRow } from "./route.ts";

export const storedRoutes = [
  { name: "createFile", method: "POST", path: "/v1/files", summary: "Upload a file." },
  {
    name: "files",
    method: "GET",
    path: "/v1/files",
    summary: "List the files of the API key's project.",
  },
  // Before the next row, whose id would match it.
  {
    name: "fileContent",
    method: "GET",
    path: "/v1/files/{id}/content",
    summary: "Get the content of a file.",
  },
  { name: "file", method: "GET", path: "/v1/files/{id}", summary: "Get one file." },
  { name: "deleteFile", method: "DELETE", path: "/v1/files/{id}", summary: "Delete a file." },
  {
    name: "createUpload",
    method: "POST",
    path: "/v1/uploads",
    summary: "Begin the upload of a file in parts.",
  },
  {
    name: "addUploadPart",
    method: "POST",
    path: "/v1/uploads/{id}/parts",
    summary: "Add a part to an upload.",
  },
  {
    name: "completeUpload",
    method: "POST",
    path: "/v1/uploads/{id}/complete",
    summary: "Join the parts of an upload into a file.",
  },
  {
    name: "cancelUpload",
    method: "POST",
    path: "/v1/uploads/{id}/cancel",
    summary: "Cancel an upload.",
  },
  { name: "createBatch", method: "POST", path: "/v1/batches", summary: "Create a batch." },
  {
    name: "batches",
    method: "GET",
    path: "/v1/batches",
    summary: "List the batches of the API key's project.",
  },
  {
    name: "cancelBatch",
    method: "POST",
    path: "/v1/batches/{id}/cancel",
    summary: "Cancel a batch.",
  },
  { name: "batch", method: "GET", path: "/v1/batches/{id}", summary: "Get one batch." },
  {
    name: "createWebhookEndpoint",
    method: "POST",
    path: "/v1/webhook_endpoints",
    summary: "Create a webhook endpoint.",
  },
  {
    name: "webhookEndpoints",
    method: "GET",
    path: "/v1/webhook_endpoints",
    summary: "List the webhook endpoints of the API key's project.",
  },
  {
    name: "rotateWebhookSecret",
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/rotate_secret",
    summary: "Replace the signing secret of a webhook endpoint.",
  },
  {
    name: "testWebhookEndpoint",
    method: "POST",
    path: "/v1/webhook_endpoints/{id}/test",
    summary: "Send a sample event to a webhook endpoint.",
  },
  {
    name: "webhookEndpoint",
    method: "GET",
    path: "/v1/webhook_endpoints/{id}",
    summary: "Get one webhook endpoint.",
  },
  {
    name: "updateWebhookEndpoint",
    method: "POST",
    path: "/v1/webhook_endpoints/{id}",
    summary: "Change a webhook endpoint.",
  },
  {
    name: "deleteWebhookEndpoint",
    method: "DELETE",
    path: "/v1/webhook_endpoints/{id}",
    summary: "Delete a webhook endpoint.",
  },
  {
    name: "webhookEventTypes",
    method: "GET",
    path: "/v1/webhook_event_types",
    summary: "List the event types that a webhook endpoint can subscribe to.",
  },
  {
    name: "imageJobs",
    method: "GET",
    path: "/v1/images/jobs",
    summary: "List the image jobs of the API key's project, without their results.",
  },
  // Before the next row, whose id would match it.
  {
    name: "cancelImageJob",
    method: "POST",
    path: "/v1/images/jobs/{id}/cancel",
    summary: "Cancel an image job.",
  },
  {
    name: "imageJob",
    method: "GET",
    path: "/v1/images/jobs/{id}",
    summary: "Get an image job, with the images response as its result.",
  },
  {
    name: "deleteImageJob",
    method: "DELETE",
    path: "/v1/images/jobs/{id}",
    summary: "Delete an image job that has ended, with its result.",
  },
  {
    name: "generationTask",
    method: "POST",
    path: "/v1/images/generations/async",
    model: true,
    summary: "Submit an image job, for clients that poll tasks.",
  },
  {
    name: "editTask",
    method: "POST",
    path: "/v1/images/edits/async",
    model: true,
    summary: "Submit an image job for edits, for clients that poll tasks.",
  },
  {
    name: "imageTask",
    method: "GET",
    path: "/v1/images/tasks/{id}",
    summary: "Get an image job as a task, for clients that poll tasks.",
  },
] as const satisfies readonly RouteRow[];

export type StoredRouteName = (typeof storedRoutes)[number]["name"];

/** The name of a route under Azure's v1 API, and under its older API with an api-version. */
export type StoredAliasName = `${"azure" | "deployment"}${Capitalize<StoredRouteName>}`;

interface StoredAlias extends RouteRow {
  readonly name: StoredAliasName;
  readonly sameAs: StoredRouteName;
}

function aliasOf(
  row: (typeof storedRoutes)[number],
  prefix: "azure" | "deployment",
  azurePath: string,
): StoredAlias {
  const { name, method, path } = row;
  const capitalized = (name.charAt(0).toUpperCase() + name.slice(1)) as Capitalize<StoredRouteName>;
  return {
    ...row,
    name: `${prefix}${capitalized}`,
    path: azurePath as `/${string}`,
    summary: `The same as ${method} ${path}, for Azure clients.`,
    sameAs: name,
  };
}

const isWebhookRoute = ({ path }: RouteRow): boolean => path.startsWith("/v1/webhook_");

/**
 * Azure's paths of the same routes: /openai/v1/files, and /openai/files with an api-version. Its webhook endpoints have
 * only the path /openai/v1/dashboard/webhook_endpoints.
 */
export const storedAliases: readonly StoredAlias[] = storedRoutes.flatMap((row) =>
  isWebhookRoute(row)
    ? [aliasOf(row, "azure", row.path.replace("/v1/", "/openai/v1/dashboard/"))]
    : [
        aliasOf(row, "azure", `/openai${row.path}`),
        aliasOf(row, "deployment", row.path.replace("/v1/", "/openai/")),
      ],
);
