/** What is measured, as data: the loads, the slow upstreams, and the targets printed next to the figures. */

export interface Scenario {
  readonly name: string;
  readonly path: string;
  /** Every `{n}` in it is another number in each request, always as many digits. */
  readonly body: string;
  readonly connections: number;
  /** Absent: the one without limits. */
  readonly key?: string;
}

export const key = "sk-vexel-bench-0123456789abcdef0123456789abcdef";
/** Of a key with limits and budgets, in a project that has its own. */
export const limitedKey = "sk-vexel-limited-0123456789abcdef0123456789abcde";

const text = "The quick brown fox jumped over the lazy dog";

const embeddings = (
  name: string,
  connections: number,
  body: { model: string; input: string | readonly string[]; encoding_format: "base64" | "float" },
): Scenario => ({ name, path: "/v1/embeddings", body: JSON.stringify(body), connections });

const many = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${text} {n} ${at}`);

const oneNewText = (name: string, connections: number, model: string): Scenario =>
  embeddings(name, connections, { model, input: `${text} {n}`, encoding_format: "base64" });

const usual = "text-embedding-3-small";

export const newText = oneNewText(
  "one new text a request (cache and batching on, as by default), 1536 as base64",
  32,
  usual,
);

export const limitedText: Scenario = {
  ...oneNewText(
    "one new text a request, within limits of key, project, model and target and budgets of key and project",
    32,
    "limited",
  ),
  key: limitedKey,
};

export const knownText = embeddings("one text known from the cache, 1536 as base64", 32, {
  model: usual,
  input: text,
  encoding_format: "base64",
});

// Few connections for large answers: what is half done when the load ends is paid for and counted nowhere.
export const passThrough = embeddings(
  "256 texts passed through (cache: false), 1536 as base64",
  4,
  {
    model: "uncached",
    input: many(256),
    encoding_format: "base64",
  },
);

export const floats = embeddings("64 new texts as floats from base64 (cache on), 1536", 2, {
  model: usual,
  input: many(64),
  encoding_format: "float",
});

/** An upstream that is the bottleneck. */
export const crowded = { slots: 4, ms: 20, callers: 256 } as const;
export const crowdedTogether = oneNewText("batching on", crowded.callers, "crowded-together");
export const crowdedAlone = oneNewText("batching off", crowded.callers, "crowded-alone");

/** An upstream with room, and quick, so that a wait in the gateway would show. */
export const calm = { slots: 64, ms: 2 } as const;
export const calmTogether = oneNewText("batching on", 1, "calm-together");
export const calmAlone = oneNewText("batching off", 1, "calm-alone");

const pictures = (
  name: string,
  connections: number,
  body: { model: string; response_format?: "b64_json"; output_format?: "webp" },
): Scenario => ({
  name,
  path: "/v1/images/generations",
  body: JSON.stringify({ prompt: "A quick brown fox, number {n}", ...body }),
  connections,
});

export const picture = pictures("a picture of 1.5 MB, 2 MB in base64, passed through", 4, {
  model: "gpt-image-2",
});

export const links = pictures("a link to a picture of 1.5 MB, asked for in base64", 8, {
  model: "linked",
  response_format: "b64_json",
});

export const convert = pictures("a PNG like a photograph of 1024x1024, asked for as WebP", 4, {
  model: "photos",
  output_format: "webp",
});

/** Answers of 4 MB to callers who call at the same time. */
export const answers = { count: 100, path: "/v1/images/generations", drawsMs: 500 } as const;

/** In how many ways the same pictures are asked for. */
export const answerWays = {
  whole: { name: "", ask: { model: "large" } },
  streamed: { name: ", streamed", ask: { model: "large", stream: true } },
  cutUp: { name: ", streamed by an upstream that does not", ask: { model: "still", stream: true } },
  kept: { name: ", as links", ask: { model: "large", response_format: "url" } },
} as const;
export type AnswerWay = (typeof answerWays)[keyof typeof answerWays];

/** Large pictures, as many of them different as stated, to an upstream that takes them slowly. */
export const edits = { count: 8, different: 2, megabytes: 50, path: "/v1/images/edits" } as const;

export const cacheBytes = 64 * 1024 * 1024;

/** At most, where the name does not say otherwise. */
export const targets = {
  newTextTimesNginx: 3,
  knownTextTimesNginx: 1,
  passThroughTimesNginx: 2,
  floatsTimesPrinting: 1.3,
  leastGainTogether: 4,
  callsPerAnswer: 1 / 8,
  idleTimesAlone: 1.05,
  cacheMegabytes: (1.5 * cacheBytes) / 2 ** 20,
  /** Of the present state, as a multiple of the commit that `--against` names. */
  timesOtherCommit: 1.1,
  restMegabytes: 100,
  loadMegabytes: 200,
  readyMs: 500,
  pictureTimesNginx: 2,
  answersGrowthMegabytes: 64,
  editsGrowthMegabytes: 64,
} as const;
