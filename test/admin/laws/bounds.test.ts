/**
 * Every value that a user of the admin API can send is bounded: each list, map and text of every schema has a maximum.
 * Without one, a key with thousands of model patterns, for example, would slow down the requests of all keys.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { z } from "zod";
import { fileSchema } from "../../../server/config/validate/schema.ts";
import { startGateway } from "../../harness.ts";
import type { AdminDocument } from "./law-gateway.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The paths of values without a maximum in a JSON schema. */
function* unbounded(schema: Schema, path: string, root: Schema): Generator<string> {
  const { $ref, anyOf, oneOf, type } = schema;
  const alternatives = (anyOf ?? oneOf) as readonly Schema[] | undefined;
  if (typeof $ref === "string") yield* unbounded(resolve($ref, root), path, root);
  else if (alternatives) for (const each of alternatives) yield* unbounded(each, path, root);
  else if ("const" in schema || "enum" in schema) return;
  else if (type === "string") {
    if (!("maxLength" in schema) && !isBounded(schema.pattern)) yield `${path}: string`;
  } else if (type === "array") {
    if (!("maxItems" in schema)) yield `${path}: array`;
    yield* unbounded(schema.items as Schema, `${path}[]`, root);
  } else if (type === "object") yield* unboundedMembers(schema, path, root);
  else if (type === undefined) yield `${path}: any value`;
}

function* unboundedMembers(schema: Schema, path: string, root: Schema): Generator<string> {
  const { properties = {}, additionalProperties, propertyNames } = schema;
  for (const [name, member] of Object.entries(properties as Record<string, Schema>)) {
    yield* unbounded(member, `${path}.${name}`, root);
  }
  if (!additionalProperties) return;
  if (!("maxProperties" in schema)) yield `${path}: map`;
  yield* unbounded((propertyNames ?? {}) as Schema, `${path}.{name}`, root);
  yield* unbounded(additionalProperties as Schema, `${path}.*`, root);
}

/** Whether a pattern matches only texts up to some length: it has both anchors, and no unlimited repetition. */
const isBounded = (pattern: unknown): boolean =>
  typeof pattern === "string" &&
  /^\^.*\$$/.test(pattern) &&
  !/[*+]|\{\d+,\}/.test(pattern.replace(/\\.|\[[^\]]*\]/g, "."));

const resolve = (reference: string, root: Schema): Schema =>
  reference
    .split("/")
    .slice(1)
    .reduce<Schema>((value, name) => value[name] as Schema, root);

const check = (schema: Schema, path: string, root = schema): string[] => [
  ...new Set(unbounded(schema, path, root)),
];

const schemaOf = (schema: z.ZodType): Schema =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });

const adminToken = "admin-token-0123456789";
const gateway = startGateway({
  yaml: "",
  settings: {
    VEXEL_ADMIN_TOKEN: adminToken,
    VEXEL_OIDC_ISSUER: "http://127.0.0.1:1",
    VEXEL_OIDC_CLIENT_ID: "vexel",
    VEXEL_OIDC_DOMAINS: "*",
  },
});
afterAll(() => gateway.close());
const response = await fetch(`${gateway.url}/admin/api/openapi.json`, {
  headers: { authorization: `Bearer ${adminToken}` },
});
const document = (await response.json()) as AdminDocument & Schema;

interface Described {
  readonly parameters?: readonly { readonly name: string; in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema }>> };
}

/** Entities, whose bodies are validated as entries of vexel.yaml, together with the whole configuration. */
const entityPath = /^\/admin\/api\/(?:models|upstreams|webhooks)(?:\/|$)/;

describe("every list, map and text has a maximum", () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      test(`of ${method.toUpperCase()} ${path}`, () => {
        const { parameters = [], requestBody } = operation as Described;
        const bodies = entityPath.test(path) ? [] : Object.values(requestBody?.content ?? {});
        expect([
          ...bodies.flatMap(({ schema }) => check(schema, "body", schema)),
          ...parameters
            .filter((parameter) => parameter.in === "query")
            .flatMap(({ name, schema }) => check(schema, name)),
        ]).toEqual([]);
      });
    }
  }

  // The number of entries of the file is the operator's decision.
  for (const [name, list] of Object.entries(fileSchema.shape)) {
    test(`of ${name} in vexel.yaml`, () => {
      const schema = schemaOf(list);
      const entry = schema.type === "array" ? (schema.items as Schema) : schema;
      expect(check(entry, name, schema)).toEqual([]);
    });
  }
});
