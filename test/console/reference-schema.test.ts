/** What the API reference of the console reads from the OpenAPI documents. */
import { expect, test } from "bun:test";
import type { OpenApiDocument } from "../../console/src/features/reference/openapi-document.ts";
import { requestSample } from "../../console/src/features/reference/request-samples.ts";
import {
  exampleOf,
  objectsIn,
  resolved,
  typeText,
} from "../../console/src/features/reference/schema.ts";

const tree = {
  type: "object",
  description: "A tree.",
  required: ["name", "next"],
  properties: {
    name: { type: "string" },
    next: { anyOf: [{ $ref: "#/components/schemas/Tree" }, { type: "null" }] },
  },
};
const json = {
  anyOf: [{ type: "string" }, { type: "array", items: { $ref: "#/components/schemas/Json" } }],
};
const document: OpenApiDocument = {
  paths: {},
  components: { schemas: { Tree: tree, Json: json } },
};
const treeReference = { $ref: "#/components/schemas/Tree" };

test("a schema that contains itself has a type, an example and members", () => {
  expect(typeText(document, { $ref: "#/components/schemas/Json" })).toBe("string | array of Json");
  expect(exampleOf(document, treeReference)).toEqual({ name: "string", next: null });
  expect(objectsIn(document, { type: "array", items: treeReference })).toEqual([tree]);
  expect(objectsIn(document, { $ref: "#/components/schemas/Json" })).toEqual([]);
});

test("a description beside a reference replaces that of the schema", () => {
  const described = { ...treeReference, description: "Its own." };
  expect(resolved(document, described)).toEqual({ ...tree, description: "Its own." });
});

test("the type of a field has its choices and its range", () => {
  const typeOf = (schema: object): string => typeText(document, schema);
  expect(typeOf({ enum: ["low", "high"] })).toBe('"low" | "high"');
  expect(typeOf({ type: "integer", minimum: 1, maximum: 10 })).toBe("integer 1–10");
  expect(typeOf({ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER })).toBe(
    "integer ≥ 0",
  );
  expect(typeOf({ type: ["string", "null"] })).toBe("string | null");
});

test("a sample of a request without a method in OpenAI's packages has its method, credential and body", () => {
  const request = {
    method: "PUT",
    baseUrl: "https://gateway.example",
    path: "/admin/api/models/ID",
    token: "VEXEL_ADMIN_TOKEN",
    body: { description: "It's ours" },
    isJson: true,
  };
  expect(requestSample("curl", request)).toBe(
    [
      "curl -X PUT 'https://gateway.example/admin/api/models/ID'",
      '-H "Authorization: Bearer $VEXEL_ADMIN_TOKEN"',
      '-H "Content-Type: application/json"',
      `-d '{"description":"It'\\''s ours"}'`,
    ].join(" \\\n  "),
  );
  expect(requestSample("Python", request)).toContain(
    'response = requests.put(\n    "https://gateway.example/admin/api/models/ID",\n',
  );
  expect(requestSample("TypeScript", request)).toContain('  method: "PUT",\n');
});
