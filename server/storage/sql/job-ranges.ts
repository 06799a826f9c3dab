/** The ranges of lines of a job in a SQL database. Every function runs in a transaction. */
import { Parameters, type Queries } from "./database.ts";
import type { LineErrors, NewRange, RangeClaim, RangeRow, SettledLines } from "./stored-job.ts";

/** Rows of one INSERT. */
const rangesPerInsert = 500;

export const linesOf = (ranges: readonly NewRange[]): number =>
  ranges.reduce((sum, { lines }) => sum + lines, 0);

export async function addRanges(
  queries: Queries,
  id: string,
  ranges: readonly NewRange[],
  now: number,
): Promise<void> {
  for (let at = 0; at < ranges.length; at += rangesPerInsert) {
    const parameters = new Parameters();
    const job = parameters.add(id);
    const rows = ranges
      .slice(at, at + rangesPerInsert)
      .map(({ firstLine, lines, position, phase = "lines", reserved }, index) =>
        [at + index, firstLine, lines, position, phase, reserved ? JSON.stringify(reserved) : null]
          .map((value) => parameters.add(value))
          .join(", "),
      );
    const since = parameters.add(now);
    await queries.query(
      `INSERT INTO vexel.job_ranges (job_id, number, first_line, lines, position, phase, reserved,
         phase_since, settled, attempts, lease_until)
       VALUES ${rows.map((row) => `(${job}, ${row}, ${since}, 0, 0, 0)`).join(", ")}`,
      parameters.values,
    );
  }
}

/**
 * The job is locked first: of the last two ranges that end at the same time, one sees that the other has ended. Lines
 * that the claim has settled already count once, so a call whose outcome was lost may be repeated.
 */
export async function settleLines(
  queries: Queries,
  claim: RangeClaim,
  { from, completed, failed, bytes, cost, listCost, errors, reserved, now }: SettledLines,
): Promise<boolean> {
  const { jobId, number, holder } = claim;
  const settled = from + completed + failed;
  const { rows } = await queries.query<{ readonly line_errors: string | null }>(
    "UPDATE vexel.jobs SET served_at = served_at WHERE id = $1 RETURNING line_errors",
    [jobId],
  );
  const { count } = await queries.query(
    `UPDATE vexel.job_ranges SET settled = $5, sent = 0, upstream_operations = NULL, reserved = $6,
       waits_until = 0, last_error = NULL,
       holder = CASE WHEN lines = $5 THEN NULL ELSE holder END,
       lease_until = CASE WHEN lines = $5 THEN 0 ELSE lease_until END
     WHERE job_id = $1 AND number = $2 AND holder = $3 AND settled = $4`,
    [jobId, number, holder, from, settled, reserved && JSON.stringify(reserved)],
  );
  if (count === 0) return wasSettledBy(queries, claim, settled);
  await queries.query(
    `UPDATE vexel.jobs SET completed = completed + $2, failed = failed + $3, bytes = bytes + $4,
       cost = coalesce(coalesce(cost, 0) + CAST($5 AS DOUBLE PRECISION), cost),
       list_cost = coalesce(coalesce(list_cost, 0) + CAST($6 AS DOUBLE PRECISION), list_cost),
       line_errors = $7
     WHERE id = $1`,
    [jobId, completed, failed, bytes, cost, listCost, mergedErrors(rows[0]?.line_errors, errors)],
  );
  await queries.query(
    `UPDATE vexel.jobs SET status = 'finalizing', finalizing_at = $2
     WHERE id = $1 AND status = 'in_progress' AND NOT EXISTS (
       SELECT 1 FROM vexel.job_ranges WHERE job_id = $1 AND settled < job_ranges.lines)`,
    [jobId, now],
  );
  return true;
}

/** The row is deleted when its job has ended. */
async function wasSettledBy(
  queries: Queries,
  { jobId, number, attempt }: RangeClaim,
  settled: number,
): Promise<boolean> {
  const { rows } = await queries.query<Pick<RangeRow, "attempts" | "settled">>(
    "SELECT attempts, settled FROM vexel.job_ranges WHERE job_id = $1 AND number = $2",
    [jobId, number],
  );
  const [row] = rows;
  return !row || (row.attempts - 1 === attempt && row.settled === settled);
}

const maxErrorKinds = 20;

function mergedErrors(stored: string | null = null, errors: readonly LineErrors[]): string | null {
  if (errors.length === 0) return stored;
  const merged = new Map<string, LineErrors>();
  for (const each of [...(JSON.parse(stored ?? "[]") as LineErrors[]), ...errors]) {
    const { code, count } = each;
    const known = merged.get(code);
    if (known) merged.set(code, { ...known, count: known.count + count });
    else if (merged.size < maxErrorKinds) merged.set(code, each);
  }
  return JSON.stringify([...merged.values()]);
}
