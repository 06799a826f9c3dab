/** The scenarios as data: the loads, the slow upstreams, and the targets printed next to the figures. */

import { usualImage } from "./sample-images.ts";

export interface Scenario {
  readonly name: string;
  readonly path: string;
  /** Each `{n}` is replaced by another number in each request, always with the same number of digits. */
  readonly body: string;
  readonly connections: number;
  /** The same requests are repeated after this many. If absent, `{n}` never repeats. */
  readonly cycle?: number;
  /** If absent, the key without limits. */
  readonly key?: string;
  /** In place of `body`: a form that is the same in each request. */
  readonly form?: () => { readonly contentType: string; readonly bytes: Buffer };
}

export const key = "sk-vexel-bench-0123456789abcdef0123456789abcdef";
/** A key with limits and budgets, in a project with its own. */
export const limitedKey = "sk-vexel-limited-0123456789abcdef0123456789abcde";

const text = "The quick brown fox jumped over the lazy dog";

type EncodingFormat = "base64" | "float" | "binary";

const embeddings = (
  name: string,
  connections: number,
  body: { model: string; input: string | readonly string[]; encoding_format: EncodingFormat },
): Scenario => ({ name, path: "/v1/embeddings", body: JSON.stringify(body), connections });

const many = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${text} {n} ${at}`);

const oneUncachedText = (name: string, connections: number, model: string): Scenario =>
  embeddings(name, connections, { model, input: `${text} {n}`, encoding_format: "base64" });

const usual = "text-embedding-3-small";

export const uncachedText = oneUncachedText(
  "one uncached text per request (cache and batching on, the default), 1536 as base64",
  32,
  usual,
);

export const limitedText: Scenario = {
  ...oneUncachedText(
    "one uncached text per request, within limits of key, project, model and target and budgets of key and project",
    32,
    "limited",
  ),
  key: limitedKey,
};

export const cachedText = embeddings("one cached text per request, 1536 as base64", 32, {
  model: usual,
  input: text,
  encoding_format: "base64",
});

/** More texts than the default cache of a replica holds. */
export const repeatedTexts: Scenario = {
  ...oneUncachedText("one of 4,000 texts per request, 1536 as base64", 32, usual),
  cycle: 4000,
};

// Few connections for large responses: unfinished requests at the end of the load cost CPU and are not counted.
export const passThrough = embeddings(
  "256 texts passed through (cache: false), 1536 as base64",
  4,
  {
    model: "uncached",
    input: many(256),
    encoding_format: "base64",
  },
);

/** What an indexer sends: many texts at once, with the defaults. */
export const manyTexts = embeddings("100 uncached texts per request, 1536 as base64", 4, {
  model: usual,
  input: many(100),
  encoding_format: "base64",
});
export const mostTexts = embeddings("256 uncached texts per request, 1536 as base64", 4, {
  model: usual,
  input: many(256),
  encoding_format: "base64",
});
export const manyTextsAsFloats = embeddings("100 uncached texts as floats, 1536", 4, {
  model: usual,
  input: many(100),
  encoding_format: "float",
});

/** The upstream sends the vectors of this model as JSON numbers, whatever was requested. */
export const numbersModel = "numbers";
const fromNumbers = (encoding_format: EncodingFormat): Scenario =>
  embeddings(`100 uncached texts as ${encoding_format} from JSON numbers, 1536`, 4, {
    model: numbersModel,
    input: many(100),
    encoding_format,
  });
export const numbersAsBase64 = fromNumbers("base64");
export const numbersAsFloats = fromNumbers("float");
export const oneTextFromNumbers = oneUncachedText(
  "one uncached text from JSON numbers, 1536 as base64",
  32,
  numbersModel,
);

export const floats = embeddings("64 uncached texts as floats from base64 (cache on), 1536", 2, {
  model: usual,
  input: many(64),
  encoding_format: "float",
});

/** The upstream sends base64 each time, and the gateway computes the other types. */
export const outputTypes = {
  float: floats,
  base64: embeddings("64 uncached texts as base64", 2, {
    model: usual,
    input: many(64),
    encoding_format: "base64",
  }),
  binary: embeddings("64 uncached texts as binary", 2, {
    model: usual,
    input: many(64),
    encoding_format: "binary",
  }),
};

/** An upstream that is the bottleneck. */
export const crowded = { slots: 4, ms: 20, clients: 256 } as const;
export const crowdedBatched = oneUncachedText("batching on", crowded.clients, "crowded-batched");
export const crowdedUnbatched = oneUncachedText(
  "batching off",
  crowded.clients,
  "crowded-unbatched",
);

/** A fast upstream with free slots, so that a delay in the gateway is visible. */
export const calm = { slots: 64, ms: 2 } as const;
export const calmBatched = oneUncachedText("batching on", 1, "calm-batched");
export const calmUnbatched = oneUncachedText("batching off", 1, "calm-unbatched");

const imageScenario = (
  name: string,
  connections: number,
  body: { model: string; response_format?: "b64_json"; output_format?: "webp" },
): Scenario => ({
  name,
  path: "/v1/images/generations",
  body: JSON.stringify({ prompt: "A quick brown fox, number {n}", ...body }),
  connections,
});

export const image = imageScenario("an image of 1.5 MB, 2 MB in base64, passed through", 4, {
  model: "gpt-image-2",
});

/** The response is an image of 1.5 MB too. */
export const edit: Scenario = {
  name: "an edit of a PNG of 1.5 MB, in a form",
  path: "/v1/images/edits",
  body: "",
  connections: 4,
  form: () => {
    const boundary = "----bench-0123456789";
    const part = (head: string) => `--${boundary}\r\ncontent-disposition: form-data; ${head}`;
    return {
      contentType: `multipart/form-data; boundary=${boundary}`,
      bytes: Buffer.concat([
        Buffer.from(part('name="model"\r\n\r\ngpt-image-2\r\n')),
        Buffer.from(part('name="prompt"\r\n\r\na hat\r\n')),
        Buffer.from(part('name="image"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n')),
        usualImage(),
        Buffer.from(`\r\n--${boundary}--\r\n`),
      ]),
    };
  },
};

export const links = imageScenario("a link to an image of 1.5 MB, requested as base64", 8, {
  model: "linked",
  response_format: "b64_json",
});

export const convert = imageScenario("a PNG like a photograph of 1024x1024, requested as WebP", 4, {
  model: "photos",
  output_format: "webp",
});

/** Concurrent responses of 4 MB. */
export const largeResponses = {
  count: 100,
  path: "/v1/images/generations",
  generationMs: 500,
} as const;

/** The ways in which the same images are requested. */
export const responseFormats = {
  whole: { name: "", body: { model: "large" } },
  streamed: { name: ", streamed", body: { model: "large", stream: true } },
  convertedToStream: {
    name: ", streamed by an upstream that does not",
    body: { model: "still", stream: true },
  },
  asLinks: { name: ", as links", body: { model: "large", response_format: "url" } },
} as const;
export type ResponseFormat = (typeof responseFormats)[keyof typeof responseFormats];

/** Uploads of large images, of which `different` are distinct, to an upstream that reads them slowly. */
export const edits = { count: 8, different: 2, megabytes: 50, path: "/v1/images/edits" } as const;

/** Images in one embeddings request. */
export const embeddedImages = {
  count: 64,
  width: 577,
  height: 577,
  model: "embedded-images",
} as const;

export const cacheBytes = 64 * 1024 * 1024;

/**
 * Maximum values, unless the name says otherwise. A ratio is that of CPU times, such as Vexel's divided by nginx's, and
 * with batching that of latencies. README.md of this folder has the reason of each.
 */
export const targets = {
  uncachedTextNginxRatio: 4.6,
  limitedTextNginxRatio: 6,
  cachedTextNginxRatio: 1.5,
  passThroughNginxRatio: 2,
  manyTextsNginxRatio: 5,
  mostTextsNginxRatio: 5,
  manyFloatsNginxRatio: 9.5,
  oneTextFromNumbersNginxRatio: 6,
  numbersNginxRatio: 9,
  numbersAsFloatsNginxRatio: 10,
  floatsPrintingRatio: 1.3,
  leastBatchingGain: 4,
  upstreamRequestsPerRequest: 1 / 8,
  batchedUnbatchedRatio: 1.05,
  cacheMegabytes: (1.5 * cacheBytes) / 2 ** 20,
  /** CPU of the working tree, as a multiple of the commit that `--against` names. */
  otherCommitRatio: 1.1,
  /** CPU with metrics and traces, as a multiple of the CPU without both. */
  observedUnobservedRatio: 1.1,
  /** CPU with ten live views of the console, as a multiple of the CPU without. */
  viewedUnviewedRatio: 1.02,
  /** Requests per second of two workers, as a multiple of one. */
  leastOfTwoWorkers: 1.8,
  /** Upstream requests per request whose vector is cached in Redis. A lookup that takes too long is a miss. */
  upstreamRequestsPerRedisHit: 0.02,
  restMegabytes: 100,
  loadMegabytes: 250,
  readyMs: 750,
  imageNginxRatio: 2.8,
  editNginxRatio: 6,
  responsesGrowthMegabytes: 100,
  editsGrowthMegabytes: 64,
} as const;
