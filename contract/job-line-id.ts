/**
 * The request ids of the lines of jobs. Each request of a line has a ledger row of its own, so its id has the job, the
 * line, or the first and the last of merged lines, and, if it is a retry, the attempt.
 */

export interface JobLine {
  /** The id of the job. */
  readonly job: string;
  /** From 0. */
  readonly first: number;
  /** That of merged lines is later than the first. */
  readonly last: number;
  /** Such as `1.2`: the second request of the first process that ran the line. Undefined: not a retry. */
  readonly attempt: string | undefined;
}

export const jobLineId = ({ job, first, last, attempt }: JobLine): string => {
  const lines = first === last ? first : `${first}-${last}`;
  return `${job}-${lines}${attempt === undefined ? "" : `-${attempt}`}`;
};

const pattern = /^((?:batch|imgjob)_[0-9a-f]{32})-(\d+)(?:-(\d+))?(?:-(\d+\.\d+))?$/;

/** Undefined if the request is of no job. */
export function jobLineOf(requestId: string): JobLine | undefined {
  const [, job, first, last = first, attempt] = pattern.exec(requestId) ?? [];
  if (job === undefined) return undefined;
  return { job, first: Number(first), last: Number(last), attempt };
}
