/** Queries of jobs. They are repeated while a job runs. */
import { queryOptions } from "@tanstack/react-query";
import type { JobDetail, ShownJob } from "../../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { pagedQuery } from "../../api/lists.ts";

const runningMs = 2000;
/** For jobs that applications start meanwhile. */
const idleMs = 10_000;

interface LoadedJobs {
  readonly state: {
    readonly data:
      | { readonly pages: readonly { readonly data: readonly ShownJob[] }[] }
      | undefined;
  };
}

export const jobsQuery = (project: string | undefined) => ({
  ...pagedQuery<ShownJob>("/jobs", { project }),
  refetchInterval: ({ state }: LoadedJobs): number =>
    state.data?.pages.some(({ data }) => data.some(isRunning)) ? runningMs : idleMs,
});

export const jobPath = (id: string): string => `/jobs/${encodeURIComponent(id)}`;

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ["/jobs", id],
    queryFn: ({ signal }) => call<JobDetail>(jobPath(id), { signal }),
    refetchInterval: ({ state }) => (state.data && isRunning(state.data) ? runningMs : false),
  });

export const isRunning = ({ ended_at }: Pick<ShownJob, "ended_at">): boolean => ended_at === null;
