/** The check of responses of the admin API refuses what the OpenAPI document does not describe. */
import { expect, test } from "bun:test";
import { z } from "zod";
import { statisticsSchema } from "../../contract/admin/statistics.ts";
import { buildAdminOpenapi } from "../../server/admin/openapi/admin-openapi.ts";
import { type AdminApiDocument, checkResponsesBy } from "./documented-responses.ts";

const route = { role: "viewer", scope: "gateway", summary: "A route." } as const;
const document = buildAdminOpenapi({
  operations: [
    { ...route, method: "GET", path: "/things/:id", response: z.strictObject({ id: z.string() }) },
    { ...route, method: "GET", path: "/things/latest", response: statisticsSchema },
    { ...route, method: "DELETE", path: "/things/:id", response: null },
  ],
  serverUrl: "",
  version: "1.0.0",
}) as unknown as AdminApiDocument;
const check = checkResponsesBy(document);
const path = "/admin/api/things/1";

test("a response that matches its schema is accepted", () => {
  check({ method: "GET", path, status: 200, json: { id: "1" } });
  check({ method: "DELETE", path, status: 204, json: undefined });
  const error = { message: "No.", type: "invalid_request_error", param: null, code: null };
  check({ method: "GET", path: `${path}?a=b`, status: 404, json: { error } });
});

test("a response with a wrong, missing or undocumented member or status is refused", () => {
  for (const json of [{ id: 1 }, {}, { id: "1", more: true }]) {
    expect(() => check({ method: "GET", path, status: 200, json })).toThrow("schema");
  }
  expect(() => check({ method: "GET", path, status: 404, json: { id: "1" } })).toThrow("schema");
  expect(() => check({ method: "DELETE", path, status: 200, json: {} })).toThrow("status 200");
});

test("a path without parameters has its own schema", () => {
  const latest = "/admin/api/things/latest";
  expect(() => check({ method: "GET", path: latest, status: 200, json: { id: "1" } })).toThrow();
});

test("a schema with an ID is a component that has its description and those of its members", () => {
  expect(document.paths["/admin/api/things/latest"]?.get?.responses["200"]).toMatchObject({
    content: { "application/json": { schema: { $ref: "#/components/schemas/Statistics" } } },
  });
  expect(document.components).toMatchObject({
    schemas: {
      Statistics: {
        description: "Statistics of the gateway's own parts, since its start.",
        properties: { cache: { description: "The embedding cache.", type: "object" } },
        additionalProperties: false,
      },
    },
  });
});
