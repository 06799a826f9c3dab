/** Expired responses in PostgreSQL are deleted by statements of bounded size: each has the time limit of a query. */
import { expect, test } from "bun:test";
import { createPostgresResponses } from "../../server/storage/postgres/responses.ts";
import type { Queries, SqlValue } from "../../server/storage/sql/database.ts";

test("a sweep deletes 45 expired responses with three statements of at most 20", async () => {
  let stored = 45;
  const statements: (readonly SqlValue[])[] = [];
  const query: Queries["query"] = async (_text, values = []) => {
    statements.push(values);
    const count = Math.min(stored, Number(values[1]));
    stored -= count;
    return { rows: [], count };
  };
  const db = { query, transaction: () => Promise.reject(new Error("no transaction is needed")) };
  await createPostgresResponses({ db, ttlMs: 1000, now: async () => 100_000 }).sweep();
  expect(statements).toEqual(Array.from({ length: 3 }, () => [39_000, 20]));
  expect(stored).toBe(0);
});
