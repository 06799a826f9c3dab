/** A client of image jobs. */
import { testKey } from "../harness.ts";

export interface ImageJob {
  readonly id: string;
  readonly object: string;
  readonly status: string;
  readonly progress: number;
  readonly created_at: number;
  readonly expires_at: number;
  readonly completed_at: number | null;
  readonly model: string;
  readonly endpoint: string;
  readonly error: { readonly code: string | null; readonly message: string } | null;
  readonly waiting: { readonly message: string; readonly next_attempt_at: number } | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly result: {
    readonly data: readonly { readonly url?: string; readonly b64_json?: string }[];
  } | null;
}

export interface JobPage {
  readonly data: readonly ImageJob[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

type JobClient = ReturnType<typeof jobClient>;

export function jobClient(url: string, key = testKey) {
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    });
  return {
    submit: async (body: object): Promise<ImageJob> => {
      const response = await send("/v1/images/generations", {
        method: "POST",
        body: JSON.stringify({ ...body, async: true }),
      });
      const text = await response.text();
      if (response.status !== 202) throw new Error(`${response.status} ${text}`);
      return JSON.parse(text) as ImageJob;
    },
    get: (id: string) => send(`/v1/images/jobs/${id}`),
    list: async (query = "") => (await send(`/v1/images/jobs${query}`)).json() as Promise<JobPage>,
    cancel: (id: string) => send(`/v1/images/jobs/${id}/cancel`, { method: "POST" }),
    remove: (id: string) => send(`/v1/images/jobs/${id}`, { method: "DELETE" }),
  };
}

/** Polls the job until it has ended. */
export async function endOf(client: JobClient, id: string): Promise<ImageJob> {
  for (;;) {
    const response = await client.get(id);
    const job = (await response.json()) as ImageJob;
    if (response.status !== 200) throw new Error(`${response.status} ${JSON.stringify(job)}`);
    if (job.status !== "queued" && job.status !== "in_progress") return job;
    await Bun.sleep(20);
  }
}
