/** Stored responses in PostgreSQL, in chunks of a megabyte. */
import type { ResponseMetadata } from "../ports/response-store.ts";
import type { SharedResponses } from "../ports/shared-responses.ts";
import type { Queries, SqlDatabase } from "../sql/database.ts";

interface PostgresResponsesOptions {
  readonly db: Pick<SqlDatabase, "query" | "transaction">;
  readonly ttlMs: number;
  /** The clock of the database: Unix milliseconds. */
  readonly now: () => Promise<number>;
}

interface Row {
  readonly id: string;
  readonly length: string;
  readonly metadata: string;
}

const chunkBytes = 1024 * 1024;
/** A response is deleted a little after it expires, as a request may still be reading it. */
const graceMs = 60_000;
/** Responses per statement of a sweep: with tens of megabytes each, it ends well within the time limit of a query. */
const sweptAtOnce = 20;

export const createPostgresResponses = ({
  db,
  ttlMs,
  now,
}: PostgresResponsesOptions): SharedResponses => ({
  async find(name) {
    const { rows } = await db.query<Row>(
      `SELECT responses.id, length, metadata
       FROM vexel.response_names JOIN vexel.responses ON responses.id = response_id
       WHERE name = $1 AND response_names.stored_at > $2`,
      [name, (await now()) - ttlMs],
    );
    const [row] = rows;
    if (!row) return undefined;
    return {
      ...(JSON.parse(row.metadata) as ResponseMetadata),
      length: Number(row.length),
      open: () => readChunks(db, row.id, Number(row.length)),
    };
  },

  async copy(id, response) {
    const storedAt = await now();
    await db.transaction(async (transaction) => {
      await transaction.query(
        "INSERT INTO vexel.responses (id, length, stored_at) VALUES ($1, $2, $3)",
        [id, response.length, storedAt],
      );
      let number = 0;
      for await (const bytes of inChunks(response.open())) {
        await transaction.query(
          "INSERT INTO vexel.response_chunks (response_id, number, bytes) VALUES ($1, $2, $3)",
          [id, number++, bytes],
        );
      }
    });
  },

  async name(id, _length, names, { requestId, fingerprint, headers, isAbandoned }) {
    const storedAt = await now();
    const json = JSON.stringify({ requestId, fingerprint, headers, isAbandoned });
    for (const name of names) {
      await db.query(
        `INSERT INTO vexel.response_names (name, response_id, metadata, stored_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (name) DO UPDATE SET response_id = $2, metadata = $3, stored_at = $4`,
        [name, id, json, storedAt],
      );
    }
  },

  async sweep() {
    const before = (await now()) - ttlMs - graceMs;
    for (let deleted = sweptAtOnce; deleted === sweptAtOnce; ) {
      const { count } = await db.query(
        `DELETE FROM vexel.responses WHERE id IN
           (SELECT id FROM vexel.responses WHERE stored_at < $1 ORDER BY stored_at LIMIT $2)`,
        [before, sweptAtOnce],
      );
      deleted = count;
    }
  },
});

async function* inChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let buffered: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of source) {
    buffered.push(chunk);
    length += chunk.length;
    if (length < chunkBytes) continue;
    yield Buffer.concat(buffered);
    [buffered, length] = [[], 0];
  }
  if (length > 0) yield Buffer.concat(buffered);
}

/** One chunk at a time, so that a large response is not in memory as a whole. */
async function* readChunks(db: Queries, id: string, length: number): AsyncGenerator<Uint8Array> {
  for (let number = 0, read = 0; read < length; number++) {
    const { rows } = await db.query<{ bytes: Uint8Array }>(
      "SELECT bytes FROM vexel.response_chunks WHERE response_id = $1 AND number = $2",
      [id, number],
    );
    const [chunk] = rows;
    if (!chunk) throw new Error(`a stored response was deleted after ${read} of ${length} bytes`);
    read += chunk.bytes.length;
    yield chunk.bytes;
  }
}
