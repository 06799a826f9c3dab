/**
 * The space of the files of clients, as sums in the SQL database: of each owner, and of all owners. Every statement that
 * changes the space of a file changes the sums in the same transaction, and locks them first, so that transactions of
 * several replicas wait for each other in one order.
 */
import type { Queries, SqlInteger } from "./database.ts";

/** The most bytes of all files of the owner, and of all files. */
export interface FileQuotas {
  readonly owner: number;
  readonly all: number;
}

/** A small file takes a row and a block of the disk, and counts as this many bytes. */
const minSpace = 4096;
export const spaceFor = (bytes: number): number => Math.max(bytes, minSpace);

/** The owner of the sum of all owners. No other owner has an empty name. */
const everyone = "";

/** Called first in a transaction that changes the space of files later. */
export const lockSpace = (queries: Queries): Promise<unknown> => add(queries, everyone, 0);

/** Takes the space, or nothing: then returns which quota it would exceed. Absent quotas: none applies. */
export async function takeSpace(
  queries: Queries,
  owner: string,
  space: number,
  quotas?: FileQuotas,
): Promise<keyof FileQuotas | undefined> {
  const held = await changeSpace(queries, owner, space);
  if (!quotas) return undefined;
  const exceeded = (["owner", "all"] as const).find((scope) => held[scope] > quotas[scope]);
  if (exceeded) await changeSpace(queries, owner, -space);
  return exceeded;
}

/** Returns the space after the change. */
export async function changeSpace(
  queries: Queries,
  owner: string,
  space: number,
): Promise<FileQuotas> {
  const all = await add(queries, everyone, space);
  return { all, owner: await add(queries, owner, space) };
}

/** The space that files take, of the owner and of all owners. */
export async function spaceOf(db: Queries, owner: string): Promise<FileQuotas> {
  const { rows } = await db.query<{ owner: string; bytes: SqlInteger }>(
    "SELECT owner, bytes FROM vexel.file_space WHERE owner IN ($1, $2)",
    [owner, everyone],
  );
  const sum = (of: string): number => Number(rows.find((row) => row.owner === of)?.bytes ?? 0);
  return { owner: sum(owner), all: sum(everyone) };
}

async function add(queries: Queries, owner: string, bytes: number): Promise<number> {
  const { rows } = await queries.query<{ bytes: SqlInteger }>(
    `INSERT INTO vexel.file_space AS held (owner, bytes) VALUES ($1, $2)
     ON CONFLICT (owner) DO UPDATE SET bytes = held.bytes + excluded.bytes RETURNING bytes`,
    [owner, bytes],
  );
  return Number(rows[0]?.bytes);
}
