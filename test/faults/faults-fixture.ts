/** What the tests of failing upstreams share: gateways before fakes, and what every refusal must keep to. */
import { expect } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import type { LedgerRow } from "../../server/storage/ledger-row.ts";
import { type Fake, fakeVector, startFake } from "../fake-upstream.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";

/** Where nobody listens. */
export const nowhere = "http://127.0.0.1:9/v1";

export const upstreamKey = "sk-upstream-1f2e3d4c5b6a";
/** In a header of the configuration; as secret as the key. */
export const upstreamToken = "token-9a8b7c6d5e4f";

export interface Broken {
  readonly fakes: readonly Fake[];
  readonly fake: Fake;
  readonly gateway: TestGateway;
  close(): Promise<void>;
}

export interface BrokenOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** How many upstreams stand behind each model, in this order. */
  readonly upstreams?: number;
  /** By place: another address instead of the fake's. */
  readonly elsewhere?: readonly (string | undefined)[];
}

/** A gateway whose models have other names than their targets. */
export function startBroken({
  settings = {},
  upstreams = 1,
  elsewhere = [],
}: BrokenOptions = {}): Broken {
  const fakes = Array.from({ length: upstreams }, (): Fake => {
    const fake = startFake({ key: upstreamKey });
    return {
      ...fake,
      // What a target did in one test is not held against it in the next.
      clear: () => {
        fake.clear();
        gateway.resetTargets();
      },
    };
  });
  const urls = fakes.map(({ url }, at) => elsewhere[at] ?? url);
  const targets = (model: string) =>
    `[${urls.map((_, at) => `{ upstream: hidden-${at}, model: ${model}, tier: ${at} }`).join(", ")}]`;
  const gateway = startGateway({
    settings,
    yaml: `
upstreams:
${urls.map((url, at) => `  - { id: hidden-${at}, kind: openai, baseUrl: "${url}", apiKey: ${upstreamKey}, headers: { x-proxy-token: ${upstreamToken} } }`).join("\n")}
models:
  - { id: vectors, kind: embedding, targets: ${targets("house-embedder-1")} }
  - { id: sized-vectors, kind: embedding, dimensions: 1536, targets: ${targets("house-embedder-1")} }
  - { id: painter, kind: image, targets: ${targets("gpt-image-1.5")} }
keys:
  - { name: test, key: ${testKey} }
`,
  });
  return {
    fakes,
    fake: fakes[0]!,
    gateway,
    close: async () => {
      await gateway.close();
      for (const fake of fakes) fake.close();
    },
  };
}

export const ask = {
  embeddings: ({ gateway }: Broken, more: object = {}): Promise<Response> =>
    gateway.post("/v1/embeddings", { model: "vectors", input: ["a", "b"], ...more }),
  picture: ({ gateway }: Broken, more: object = {}): Promise<Response> =>
    gateway.post("/v1/images/generations", { model: "painter", prompt: "an otter", ...more }),
  edit: ({ gateway }: Broken, form: FormData): Promise<Response> =>
    fetch(`${gateway.baseURL}/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}` },
      body: form,
    }),
};

export interface Refused {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  /** In the ledger. */
  readonly error: ErrorKind;
  readonly attempts?: number;
  /** That were made and paid for, and could not be handed over. */
  readonly images?: number;
}

export interface ErrorAnswer {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** The defined answer in OpenAI's shape, nothing internal in it, and a row that says the same. */
export async function expectRefused(
  broken: Broken,
  response: Response,
  { status, type, code, error: kind, attempts = 1, images }: Refused,
): Promise<ErrorAnswer> {
  const text = await response.text();
  expect(response.status, text).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json");
  const { error, ...others } = JSON.parse(text) as { error: ErrorAnswer };
  expect(others).toEqual({});
  expect(error).toMatchObject({ type, code });
  expect(error.message).toBeString();
  expect(error.message).not.toBe("");
  expect(error.param === null || typeof error.param === "string").toBe(true);
  expectNoSecrets(broken, response, text);
  expect(rowOf(broken, response)).toMatchObject({
    status,
    error: kind,
    attempts,
    inputTokens: null,
    outputTokens: null,
    images: images ?? null,
    bytesOut: Buffer.byteLength(text),
  });
  return error;
}

/** Neither headers nor body tell the caller what stands behind the gateway. */
export function expectNoSecrets(
  { fakes, gateway }: Broken,
  response: Response,
  text: string,
): void {
  const told = `${JSON.stringify([...response.headers])}\n${text}`;
  const secrets = [
    upstreamKey,
    upstreamToken,
    "org-fake",
    "proj_fake",
    "openai-organization",
    "house-embedder-1",
    "gpt-image-1.5",
    "hidden-",
    gateway.folder,
    import.meta.dir.replace(/\/test\/.*$/, ""),
    ".ts:",
    "node_modules",
    ...fakes.flatMap(({ url }) => [url, new URL(url).host]),
  ];
  for (const secret of secrets) expect(told).not.toContain(secret);
}

/** The ledger's row of this answer. */
export function rowOf({ gateway }: Broken, response: Response): LedgerRow {
  const id = response.headers.get("x-request-id");
  const row = gateway.rows().find(({ requestId }) => requestId === id);
  if (!row) throw new Error(`the ledger has no row for ${id}`);
  return row;
}

export interface EmbeddingsAnswer {
  readonly model: string;
  readonly data: { readonly index: number; readonly embedding: number[] | string }[];
}

/** The right vectors of `texts`, to the last bit, whichever way the upstream gave them. */
export async function expectVectors(
  response: Response,
  texts: readonly string[] = ["a", "b"],
  dimensions = 1536,
): Promise<void> {
  const body = await response.text();
  expect(response.status, body.slice(0, 300)).toBe(200);
  const { data } = JSON.parse(body) as EmbeddingsAnswer;
  expect(data.map(({ index }) => index)).toEqual(texts.map((_, at) => at));
  const bits = data.map(({ embedding }) =>
    typeof embedding === "string"
      ? Buffer.from(embedding, "base64").toString("hex")
      : Buffer.from(Float32Array.from(embedding).buffer).toString("hex"),
  );
  expect(bits).toEqual(
    texts.map((text) => Buffer.from(fakeVector(text, dimensions).buffer).toString("hex")),
  );
}

/** The events of a stream, in order. */
export const eventsOf = (text: string): { event: string; data: Record<string, unknown> }[] =>
  [...text.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)].map(([, event, data]) => ({
    event: event!,
    data: JSON.parse(data!) as Record<string, unknown>,
  }));

export async function until(condition: () => boolean, ms = 5_000): Promise<void> {
  const end = performance.now() + ms;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`did not happen within ${ms} ms: ${condition}`);
    await Bun.sleep(5);
  }
}
