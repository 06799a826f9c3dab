/** What is measured, as data: the load, and the targets printed next to the figures. */

export interface Scenario {
  readonly name: string;
  readonly path: string;
  readonly body: string;
  readonly connections: number;
}

export const key = "sk-vexel-bench-0123456789abcdef0123456789abcdef";

export const scenarios: readonly Scenario[] = [
  {
    name: "embeddings, one short text, 1536 dimensions as base64",
    path: "/v1/embeddings",
    body: JSON.stringify({
      model: "text-embedding-3-small",
      input: "The quick brown fox jumped over the lazy dog",
      encoding_format: "base64",
    }),
    connections: 32,
  },
];

export const uploads = { count: 8, megabytes: 50, path: "/v1/images/edits" } as const;

/** At most. */
export const targets = {
  cpuTimesNginx: 3,
  restMegabytes: 100,
  loadMegabytes: 200,
  readyMs: 500,
  uploadGrowthMegabytes: 64,
} as const;
