/** Compressed responses of the admin API: which ones, that they are the same, and that none holds the event loop. */
import { afterAll, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { compressResponse } from "../../server/admin/compress-response.ts";
import { adminToken } from "../events/webhooks-fixture.ts";
import { startReads } from "./reads-fixture.ts";

const setup = startReads();
afterAll(() => setup.close());

const get = (path: string, accepted = "br, gzip") =>
  fetch(`${setup.gateway.url}/admin/api${path}`, {
    headers: { authorization: `Bearer ${adminToken}`, "accept-encoding": accepted },
    // As it was sent.
    decompress: false,
  });

const encodingOf = (response: Response) => response.headers.get("content-encoding");

test("a response of JSON or CSV above 1 KB is compressed for a client that accepts it", async () => {
  const plain = await get("/models", "identity");
  expect([encodingOf(plain), plain.headers.get("vary")]).toEqual([null, "accept-encoding"]);
  const expected = await plain.text();
  expect(expected.length).toBeGreaterThan(1024);
  const response = await get("/models");
  expect(encodingOf(response)).toBe("gzip");
  const bytes = await response.bytes();
  expect(bytes.length).toBeLessThan(expected.length / 2);
  expect(gunzipSync(bytes).toString()).toBe(expected);
  const csv = await get("/usage.csv?group_by=key");
  expect(encodingOf(csv)).toBe("gzip");
  expect(gunzipSync(await csv.bytes()).toString()).toStartWith("start,key,key_name,requests");
  expect(encodingOf(await get("/models", "gzip;q=0"))).toBeNull();
  expect(encodingOf(await get("/statistics"))).toBeNull();
});

test("an event stream and an error are sent as they are", async () => {
  const stream = await get("/requests/live");
  expect(encodingOf(stream)).toBeNull();
  await stream.body?.cancel();
  expect(encodingOf(await get(`/requests?status=${"x".repeat(3000)}`))).toBeNull();
});

const secretNames = /^(?:csrf_token|token|key|secret|password|recovery_codes?)$/;

test("no response with a key or token is compressed: only the session has one of those that are read", async () => {
  const document = (await (await get("/openapi.json", "identity")).json()) as OpenApi;
  const withSecret = Object.entries(document.paths).flatMap(([path, { get: operation }]) => {
    const content = operation?.responses?.["200"]?.content?.["application/json"];
    const names = content ? stringsIn(content.schema, document) : new Set<string>();
    return [...names].some((name) => secretNames.test(name)) ? [path] : [];
  });
  expect(withSecret.filter((path) => !/\/session$/.test(path))).toEqual([]);
  const session = new Response(JSON.stringify({ csrf_token: "x".repeat(5000) }), {
    headers: { "content-type": "application/json" },
  });
  const options = { method: "GET", hasSecret: true } as const;
  expect(await compressResponse(session, options, "gzip")).toBe(session);
  const created = Response.json({ key: "x".repeat(5000) });
  expect(await compressResponse(created, { method: "POST" }, "gzip")).toBe(created);
});

test("other requests are served while a large response is compressed", async () => {
  const rows = Array.from({ length: 40_000 }, (_, at) => ({
    at,
    name: `row ${at * 7919}`,
    sum: at / 7,
  }));
  const response = Response.json({ rows });
  let turns = 0;
  let isDone = false;
  const turn = (): void => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const compressed = await compressResponse(response, { method: "GET" }, "gzip");
  isDone = true;
  expect(encodingOf(compressed)).toBe("gzip");
  // On the thread of the requests, it would be one turn.
  expect(turns).toBeGreaterThan(10);
});

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface OpenApi {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get?: {
          readonly responses?: Readonly<
            Record<
              string,
              { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }
            >
          >;
        };
      }
    >
  >;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** The names of the members that are texts, of a schema and of those that it contains. */
function stringsIn(schema: Schema, document: OpenApi, seen = new Set<Schema>()): Set<string> {
  const found = new Set<string>();
  const visit = (each: Schema | undefined, name?: string): void => {
    if (!each) return;
    const named = document.components?.schemas?.[each.$ref?.split("/").at(-1) ?? ""];
    if (named) visit(named, name);
    if (name !== undefined && [each.type].flat().includes("string")) found.add(name);
    if (seen.has(each)) return;
    seen.add(each);
    for (const [member, value] of Object.entries(each.properties ?? {})) visit(value, member);
    for (const part of [each.items, ...(each.anyOf ?? []), ...(each.allOf ?? [])])
      visit(part, name);
  };
  visit(schema);
  return found;
}
