/**
 * Every list of the API and of the admin API has a bound. The routes come from the OpenAPI documents, so that a list
 * without `maxItems` fails here, and so does one that returns more.
 */
import { afterAll, describe, expect, test } from "bun:test";
import type { ApiKey, Page } from "../../../contract/admin.ts";
import { configFor, startGateway, testKey } from "../../harness.ts";

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const adminToken = "admin-token-0123456789";
const fileKeys = Array.from(
  { length: 250 },
  (_, at) => `  - { name: key-${at}, key: sk-${String(at).padStart(20, "0")} }\n`,
);
const gateway = startGateway({
  yaml: `${configFor("http://127.0.0.1:9")}\n${fileKeys.join("")}`,
  settings: { VEXEL_ADMIN_TOKEN: adminToken },
});
afterAll(() => gateway.close());

const get = async (path: string, key: string): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } });

const documents = [
  { name: "API", key: testKey, path: "/openapi.json" },
  { name: "admin API", key: adminToken, path: "/admin/api/openapi.json" },
] as const;

/** The arrays of a response: its own members, not those of its entries. */
function arraysOf({ responses }: Operation, { components }: Document): [string, Schema][] {
  const given = responses["200"]?.content?.["application/json"]?.schema ?? {};
  const schema =
    typeof given.$ref === "string"
      ? (components.schemas[given.$ref.split("/").at(-1) ?? ""] as Schema)
      : given;
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).filter(
    ([, { type }]) => type === "array",
  );
}

for (const { name, key, path } of documents) {
  const document = (await (await get(path, key)).json()) as Document;
  const lists = Object.entries(document.paths).flatMap(([route, { get: operation }]) => {
    // A route with an id shows one object.
    if (!operation || route.includes("{")) return [];
    return arraysOf(operation, document).map(([member, schema]) => ({
      route,
      operation,
      member,
      schema,
    }));
  });

  describe(`lists of the ${name}`, () => {
    test("are found in the document", () => {
      expect(lists.length).toBeGreaterThan(name === "API" ? 10 : 20);
    });

    test("have a declared maximum", () => {
      const unbounded = lists.filter(({ schema }) => !Number.isInteger(schema.maxItems));
      expect(unbounded.map(({ route, member }) => `${route} ${member}`)).toEqual([]);
    });

    test("have no more entries than declared", async () => {
      const longer: string[] = [];
      for (const { route, operation, member, schema } of lists) {
        const query = (operation.parameters ?? []).some(
          (each) => each.in === "query" && "required" in each && each.required,
        );
        if (query) continue;
        const response = await get(route, key);
        // An account belongs to a user, and not to a token.
        if (response.status === 403) continue;
        const body = (await response.json()) as Record<string, unknown[]>;
        const count = body[member]?.length;
        if (count === undefined || count > Number(schema.maxItems))
          longer.push(`${route}: ${count}`);
      }
      expect(longer).toEqual([]);
    });
  });
}

test("the keys of a file with many keys come in pages, before the stored ones, each once", async () => {
  const created = await fetch(`${gateway.url}/admin/api/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "stored", models: ["*"] }),
  });
  expect(created.status).toBe(201);
  const names: string[] = [];
  const sizes: number[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const next = cursor === "" ? "" : `&cursor=${cursor}`;
    const page = (await (
      await get(`/admin/api/keys?limit=100${next}`, adminToken)
    ).json()) as Page<ApiKey>;
    names.push(...page.data.map((each) => each.name));
    sizes.push(page.data.length);
    cursor = page.next_cursor;
  }
  expect(Math.max(...sizes)).toBe(100);
  expect(names).toHaveLength(new Set(names).size);
  expect(names.filter((each) => each.startsWith("key-"))).toHaveLength(250);
  expect(names.at(-1)).toBe("stored");
});
