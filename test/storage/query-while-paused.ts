/** A process that sends queries, and is paused before their results arrive. Prints how they end. */
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";

const [, , url = ""] = process.argv;
const db = new PostgresDatabase({ url, now: () => 1, timeoutMs: 1000, maxConnections: 4 });
await db.migrate();
const results = Promise.allSettled([
  db.query("SELECT pg_sleep(0.5)"),
  db.query("SELECT pg_sleep(0.5)"),
  db.transaction(async (queries) => {
    await queries.query("SELECT pg_sleep(0.5)");
    await queries.query("SELECT 1");
  }),
]);
// All of them are sent by then.
await Bun.sleep(100);
console.log("sent");
console.log((await results).map(({ status }) => status).join(", "));
await db.close();
