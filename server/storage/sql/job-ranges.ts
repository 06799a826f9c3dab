/** The ranges of lines of a job in a SQL database. Every function runs in a transaction. */
import { Parameters, type Queries } from "./database.ts";
import type { NewRange, RangeClaim, SettledLines } from "./stored-job.ts";

/** Rows of one INSERT. */
const rangesPerInsert = 500;

export const linesOf = (ranges: readonly NewRange[]): number =>
  ranges.reduce((sum, { lines }) => sum + lines, 0);

export async function addRanges(
  queries: Queries,
  id: string,
  ranges: readonly NewRange[],
): Promise<void> {
  for (let at = 0; at < ranges.length; at += rangesPerInsert) {
    const parameters = new Parameters();
    const job = parameters.add(id);
    const rows = ranges
      .slice(at, at + rangesPerInsert)
      .map(({ firstLine, lines, position, reserved }, index) =>
        [at + index, firstLine, lines, position, reserved ? JSON.stringify(reserved) : null]
          .map((value) => parameters.add(value))
          .join(", "),
      );
    await queries.query(
      `INSERT INTO vexel.job_ranges (job_id, number, first_line, lines, position, reserved,
         settled, attempts, lease_until)
       VALUES ${rows.map((row) => `(${job}, ${row}, 0, 0, 0)`).join(", ")}`,
      parameters.values,
    );
  }
}

/** The job is locked first: of the last two ranges that end at the same time, one sees that the other has ended. */
export async function settleLines(
  queries: Queries,
  { jobId, number, holder }: RangeClaim,
  { from, completed, failed, bytes, cost, listCost, reserved, now }: SettledLines,
): Promise<boolean> {
  await queries.query("UPDATE vexel.jobs SET served_at = served_at WHERE id = $1", [jobId]);
  const { count } = await queries.query(
    `UPDATE vexel.job_ranges SET settled = $5, intent = NULL, reserved = $6,
       holder = CASE WHEN lines = $5 THEN NULL ELSE holder END,
       lease_until = CASE WHEN lines = $5 THEN 0 ELSE lease_until END
     WHERE job_id = $1 AND number = $2 AND holder = $3 AND settled = $4`,
    [jobId, number, holder, from, from + completed + failed, reserved && JSON.stringify(reserved)],
  );
  if (count === 0) return false;
  await queries.query(
    `UPDATE vexel.jobs SET completed = completed + $2, failed = failed + $3, bytes = bytes + $4,
       cost = coalesce(coalesce(cost, 0) + CAST($5 AS DOUBLE PRECISION), cost),
       list_cost = coalesce(coalesce(list_cost, 0) + CAST($6 AS DOUBLE PRECISION), list_cost)
     WHERE id = $1`,
    [jobId, completed, failed, bytes, cost, listCost],
  );
  await queries.query(
    `UPDATE vexel.jobs SET status = 'finalizing', finalizing_at = $2
     WHERE id = $1 AND status = 'in_progress' AND NOT EXISTS (
       SELECT 1 FROM vexel.job_ranges WHERE job_id = $1 AND settled < job_ranges.lines)`,
    [jobId, now],
  );
  return true;
}
