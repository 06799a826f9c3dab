/** A process that sends queries, and is paused before their results arrive. Prints how they end. */
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";

const [, , url = ""] = process.argv;
const db = new PostgresDatabase({ url, now: () => 1, timeoutMs: 3000, maxConnections: 3 });
await db.migrate();
// The connections: opening one has a timeout of its own.
await Promise.all([1, 2, 3].map(() => db.query("SELECT pg_sleep(0.1)")));
const results = Promise.allSettled([
  db.query("SELECT pg_sleep(2)"),
  db.query("SELECT pg_sleep(2)"),
  db.transaction(async (queries) => {
    await queries.query("SELECT pg_sleep(2)");
    await queries.query("SELECT 1");
  }),
]);
console.log((await results).map(({ status }) => status).join(", "));
await db.close();
