/** The targets of the bench of jobs, and the figures that its processes share. */

/** The upstream of the interactive client: this many requests at a time, each for this long. */
export const slots = { count: 8, ms: 20 } as const;

export const targets = {
  /** Growth of the gateway's memory after the warm-up. */
  growthMegabytes: 64,
  /** CPU of a line beyond that of the same input in requests of 100. */
  microsecondsPerLine: 30,
  /** The p99 of an interactive client with a batch, relative to that without. */
  interactiveRatio: 1.2,
} as const;

export const key = "sk-bench-jobs-0123456789";

export const configuration = (upstream: string): string => `
upstreams:
  - { id: fast, kind: openai, baseUrl: "${upstream}/v1", apiKey: sk-fake }
  - { id: slots, kind: openai, baseUrl: "${upstream}/slots/v1", apiKey: sk-fake }
models:
  - { id: text-embedding-3-small, kind: embedding, targets: [{ upstream: fast, model: text-embedding-3-small }] }
  - { id: in-slots, kind: embedding, targets: [{ upstream: slots, model: text-embedding-3-small }] }
  - { id: gpt-image-2, kind: image, targets: [{ upstream: fast, model: gpt-image-2 }] }
keys:
  - { name: bench, key: ${key} }
`;

/** No limit of a batch or of files is reached. */
export const settings: Readonly<Record<string, string>> = {
  VEXEL_BATCH_MAX_LINES: "20000000",
  VEXEL_BATCH_MAX_BYTES: String(8 * 2 ** 30),
  VEXEL_JOBS_MAX_BYTES: String(64 * 2 ** 30),
  VEXEL_FILES_MAX_BYTES: String(128 * 2 ** 30),
  VEXEL_CANARY_HOURS: "0",
};
