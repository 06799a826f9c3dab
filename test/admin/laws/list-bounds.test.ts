/**
 * Every list of the API and of the admin API has a bound. The routes come from the OpenAPI documents, so that a list
 * without `maxItems` fails here, and so does one that returns more. Lists of jobs have a bound of bytes as well.
 */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ApiKey, Page, ShownJob } from "../../../contract/admin.ts";
import { createSendList } from "../../../server/api/send-list.ts";
import { ResponseMemory } from "../../../server/limits/response-memory.ts";
import type { SqlValue } from "../../../server/storage/sql/database.ts";
import { createJobStore } from "../../../server/storage/sql/job-store.ts";
import type { JobData } from "../../../server/storage/sql/stored-job.ts";
import { openJobDatabase } from "../../../server/storage/sqlite/job-database.ts";
import { configFor, startGateway, temporaryFolder, testKey } from "../../harness.ts";
import { until } from "../../until.ts";
import { turnsDuring } from "../../upstream/turns-during.ts";

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

describe("lists of jobs with the most metadata and errors", () => {
  const pageBytes = 1024 * 1024;
  const metadata = Object.fromEntries(
    Array.from({ length: 16 }, (_, at) => [
      `${at}${"\u0001".repeat(62)}`.slice(0, 64),
      "\u0001".repeat(512),
    ]),
  );
  const rows = 100;
  const idOf = (kind: string, at: number): string => `${kind}_${String(at).padStart(32, "0")}`;

  /** The file of a real batch fails with the longest errors. Its row is then stored often, also as an image job. */
  beforeAll(async () => {
    const headers = { authorization: `Bearer ${testKey}` };
    const url = "/v1/embeddings";
    const body = { model: `m${"\u0001".repeat(500)}`, input: "a" };
    const lines = Array.from({ length: 100 }, (_, at) =>
      JSON.stringify({ custom_id: `${at}`, method: "POST", url, body }),
    );
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new File([lines.join("\n")], "lines.jsonl"));
    const post = async (path: string, init: RequestInit): Promise<string> => {
      const response = await fetch(`${gateway.baseURL}${path}`, { method: "POST", ...init });
      if (!response.ok) throw new Error(await response.text());
      return ((await response.json()) as { id: string }).id;
    };
    const file = await post("/files", { headers, body: form });
    const id = await post("/batches", {
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({
        input_file_id: file,
        endpoint: url,
        completion_window: "24h",
        metadata,
      }),
    });
    await until(async () => {
      const batch = (await (await get(`/v1/batches/${id}`, testKey)).json()) as { status: string };
      return batch.status === "failed";
    });
    using db = new Database(join(gateway.folder, "jobs.db"));
    db.run("PRAGMA busy_timeout = 5000");
    const stored = db.query("SELECT * FROM jobs WHERE id = ?").get(id) as Record<string, string>;
    expect(stored.data?.length).toBeGreaterThan(80_000);
    expect(stored.data?.length).toBeLessThan(96 * 1024);
    const names = Object.keys(stored);
    const insert = db.query(
      `INSERT INTO jobs (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    );
    const image = {
      operation: "generations",
      model: "m",
      publicUrl: "",
      fingerprint: "",
      metadata,
    };
    const add = (changes: Record<string, string | null>) =>
      insert.run(...Object.values({ ...stored, event_at: null, once: null, ...changes }));
    db.transaction(() => {
      for (let at = 0; at < rows; at++) {
        add({ id: idOf("batch", at) });
        add({ id: idOf("imgjob", at), kind: "image", data: JSON.stringify(image) });
      }
    })();
  });

  test.each(["/v1/batches", "/v1/images/jobs"])(
    "a page of %s ends by its bytes, and the pages have each job once",
    async (path) => {
      const ids: string[] = [];
      for (let after = ""; ; ) {
        const text = await (await get(`${path}?limit=100${after}`, testKey)).text();
        expect(text.length).toBeLessThan(pageBytes + 100 * 2048);
        const page = JSON.parse(text) as {
          data: { id: string }[];
          last_id: string;
          has_more: boolean;
        };
        expect(page.data.length).toBeGreaterThan(0);
        ids.push(...page.data.map(({ id }) => id));
        if (!page.has_more) break;
        after = `&after=${page.last_id}`;
      }
      expect(ids.length).toBeGreaterThanOrEqual(rows);
      expect(new Set(ids).size).toBe(ids.length);
    },
  );

  test("a page of the admin API's jobs ends by the bytes that it reads", async () => {
    const ids: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const next = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = (await (
        await get(`/admin/api/jobs?limit=200${next}`, adminToken)
      ).json()) as Page<ShownJob>;
      expect(page.data.length).toBeLessThan(25);
      ids.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(ids).toHaveLength(2 * rows + 1);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("other requests are served while a page is read and written", async () => {
    using folder = temporaryFolder();
    const source = new Database(join(gateway.folder, "jobs.db"));
    const sample = source.query("SELECT owner, data FROM jobs WHERE kind = 'batch'").get() as {
      owner: string;
      data: string;
    };
    source.close();
    const db = openJobDatabase(folder.path, Date.now);
    let maxStepBytes = 0;
    const store = createJobStore({
      lockRows: db.lockRows,
      transaction: (work) => db.transaction(work),
      isDuplicate: (error) => db.isDuplicate(error),
      close: () => db.close(),
      query: async <Row>(text: string, values?: readonly SqlValue[]) => {
        const found = await db.query<Row>(text, values);
        maxStepBytes = Math.max(maxStepBytes, JSON.stringify(found.rows).length);
        return found;
      },
    });
    const unlimited = { jobs: 1000, bytes: 1e12 };
    const add = async (id: string, owner: string, data: JobData) =>
      store.create(
        {
          id,
          kind: "batch",
          endpoint: "/v1/embeddings",
          owner,
          keyId: "key",
          status: "in_progress",
          createdAt: 1,
          deadline: 2,
          expiresAt: 3,
          bytes: 0,
          data,
        },
        unlimited,
        unlimited,
      );
    for (let at = 0; at < rows; at++) {
      await add(idOf("large", at), "a", JSON.parse(sample.data) as JobData);
      await add(idOf("small", at), "b", {});
    }
    maxStepBytes = 0;
    // 100 small jobs are 13 steps, and two large steps fill a page.
    const small = await turnsDuring(() => store.list("b", "batch", { limit: 100 }));
    expect(small.result?.entries).toHaveLength(100);
    expect(small.turns).toBeGreaterThanOrEqual(12);
    const large = await turnsDuring(() => store.list("a", "batch", { limit: 100 }));
    expect(large.turns).toBeGreaterThanOrEqual(1);
    const all = await turnsDuring(() => store.listAll(["b"], { limit: 200 }));
    expect(all.turns).toBeGreaterThanOrEqual(12);
    expect(maxStepBytes).toBeLessThan(2 * pageBytes);
    const data = large.result?.entries ?? [];
    const sendList = createSendList({ responseMemory: new ResponseMemory(100 * pageBytes) });
    const sent = await turnsDuring(() =>
      sendList(
        { signal: new AbortController().signal },
        { keyId: "a", maxBytes: 2 * pageBytes, read: async () => ({ data }) },
      ),
    );
    expect(sent.turns).toBeGreaterThanOrEqual(data.length);
    await db.close();
  });
});
