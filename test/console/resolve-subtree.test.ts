/** References in the OpenAPI documents that the API reference of the console shows. */
import { expect, test } from "bun:test";
import { resolveSubtree } from "../../console/src/features/reference/resolve-subtree.ts";

const tree = { type: "object", properties: { next: { $ref: "#/components/schemas/Tree" } } };
const problem = { type: "object", properties: { tree: { $ref: "#/components/schemas/Tree" } } };
const response = { schema: { $ref: "#/components/schemas/Problem" } };
const document = {
  paths: {
    "/v1/embeddings": { post: { responses: { 400: response }, tags: ["a"], example: null } },
  },
  components: { schemas: { Problem: problem, Tree: tree } },
};

test("the references of an operation are replaced, and a schema that contains itself ends in its reference", async () => {
  const { spec, errors } = await resolveSubtree(document, ["paths", "/v1/embeddings", "post"]);
  expect(errors).toEqual([]);
  expect(spec).toEqual({
    responses: { 400: { schema: { type: "object", properties: { tree } } } },
    tags: ["a"],
    example: null,
  });
});

test("a description beside a reference replaces that of the schema", async () => {
  const described = { $ref: "#/components/schemas/Tree", description: "Its own." };
  const { spec } = await resolveSubtree({ ...document, described }, ["described"]);
  expect(spec).toEqual({ ...tree, description: "Its own." });
});

test("a part that the document does not have is undefined", async () => {
  expect((await resolveSubtree(document, ["components", "securitySchemes"])).spec).toBeUndefined();
});
