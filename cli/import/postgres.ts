/** Reads a PostgreSQL database of another gateway. */

type Sql = InstanceType<typeof Bun.SQL>;

/** Parameters of an address that PostgreSQL and Bun know. Prisma and Go have others, such as `connection_limit`. */
const known = new Set(["sslmode", "application_name", "options"]);

/** `schema` of the address, as Prisma has it, is the schema of the tables. */
export async function withPostgres<T>(address: string, read: (sql: Sql) => Promise<T>): Promise<T> {
  const url = new URL(address);
  const schema = url.searchParams.get("schema");
  for (const name of [...url.searchParams.keys()])
    if (!known.has(name)) url.searchParams.delete(name);
  const sql = new Bun.SQL({ url: url.href, max: 1, connectionTimeout: 10 });
  try {
    if (schema !== null)
      await sql`SELECT set_config('search_path', ${`"${schema.replaceAll('"', '""')}"`}, false)`;
    return await read(sql);
  } finally {
    await sql.close();
  }
}
