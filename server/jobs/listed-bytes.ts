/** The size of a list of jobs. */
import { maxPageBytes } from "../storage/sql/job-pages.ts";

/** Metadata, whose characters may all be escaped, and errors of one job. */
const maxJobBytes = 96 * 1024;
/** The other members of one job. */
const jobMembersBytes = 2048;

/** The most bytes of the JSON of a list of jobs. */
export const maxBytesOfJobs = (limit: number): number =>
  Math.min(limit * maxJobBytes, maxPageBytes) + limit * jobMembersBytes;
