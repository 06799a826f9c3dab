/** A gateway whose keys, models and upstreams have limits, in front of a fake OpenAI. */
import { afterEach } from "bun:test";
import OpenAI from "openai";
import { type Fake, type RecordedRequest, startFake } from "../fake-upstream.ts";
import { startGateway, type TestGateway } from "../harness.ts";

export const embedder = "text-embedding-3-small";
export const imageModel = "gpt-image-2";

export interface Limited {
  readonly fake: Fake;
  readonly gateway: TestGateway;
  /** An official client with the key of this name. */
  client(key?: string, maxRetries?: number): OpenAI;
  embed(key: string, input?: unknown, signal?: AbortSignal): Promise<Response>;
  generate(key: string, more?: object, signal?: AbortSignal): Promise<Response>;
  close(): Promise<void>;
}

interface LimitedOptions {
  /** The name of each key, and the remaining fields of its entry. */
  readonly keys: Readonly<Record<string, string>>;
  readonly projects?: string;
  readonly embedderLimits?: string;
  readonly imageModelLimits?: string;
  readonly upstreamLimits?: string;
  readonly targetLimits?: string;
  /** The upstream. The default is the fake. */
  readonly url?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

const secretOf = (name: string): string => `sk-limited-${name}-0123456789`;
const limits = (text: string | undefined): string => (text ? `, limits: { ${text} }` : "");

export function yamlFor(url: string, options: LimitedOptions): string {
  const { keys, projects, embedderLimits, imageModelLimits, upstreamLimits, targetLimits } =
    options;
  const target = (model: string) => `[{ upstream: fake, model: ${model}${limits(targetLimits)} }]`;
  const entries = Object.entries(keys).map(
    ([name, more]) => `  - { name: ${name}, key: ${secretOf(name)}${more ? `, ${more}` : ""} }`,
  );
  return `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake${limits(upstreamLimits)} }
models:
  - { id: ${embedder}, kind: embedding, targets: ${target(embedder)}${limits(embedderLimits)} }
  - { id: other, kind: embedding, targets: ${target(embedder)} }
  - { id: ${imageModel}, kind: image, targets: ${target(imageModel)}${limits(imageModelLimits)} }
keys:
${entries.join("\n")}
${projects ? `projects:\n${projects}` : ""}
`;
}

export function startLimited(options: LimitedOptions): Limited {
  const fake = startFake();
  const gateway = startGateway({
    yaml: yamlFor(options.url ?? fake.url, options),
    // No batching: each admitted request is one upstream request, so the upstream counts admitted requests.
    settings: { VEXEL_BATCH_WAIT_MS: "0", ...options.settings },
  });
  const post = (path: string, key: string, body: object, signal?: AbortSignal) =>
    fetch(`${gateway.baseURL}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${secretOf(key)}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  return {
    fake,
    gateway,
    client: (key = "one", maxRetries = 0) =>
      new OpenAI({ baseURL: gateway.baseURL, apiKey: secretOf(key), maxRetries }),
    embed: (key, input = "a red boat", signal) =>
      post("/embeddings", key, { model: embedder, input }, signal),
    generate: (key, more = {}, signal) =>
      post(
        "/images/generations",
        key,
        { model: imageModel, prompt: "a red boat", ...more },
        signal,
      ),
    close: async () => {
      await gateway.close();
      fake.close();
    },
  };
}

/** Returns a function that starts a gateway, which is closed after the test. For a test file. */
export function limitedTests(): typeof startLimited {
  let limited: Limited | undefined;
  afterEach(async () => {
    await limited?.close();
    limited = undefined;
  });
  return (options) => {
    limited = startLimited(options);
    return limited;
  };
}

export const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** An input of `count` token IDs, whose size the gateway knows exactly. */
export const tokens = (count: number): number[] => Array.from({ length: count }, () => 1);

/** The maximum number of requests in flight at the same time. */
export function maxConcurrent(requests: readonly RecordedRequest[]): number {
  const at = requests.map(
    ({ startedAt }) =>
      requests.filter(
        (other) => other.startedAt <= startedAt && (other.endedAt ?? Infinity) > startedAt,
      ).length,
  );
  return Math.max(0, ...at);
}

export const statuses = async (
  responses: readonly Promise<Response>[],
): Promise<Map<number, number>> => {
  const counts = new Map<number, number>();
  for (const response of await Promise.all(responses)) {
    await response.text();
    counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
  }
  return counts;
};
