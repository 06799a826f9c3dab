/** Fixture of the tests of failing upstreams: gateways with fake upstreams, and the checks of every error response. */
import { expect } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { type Fake, fakeVector, type InjectedFault, startFake } from "../fake-upstream.ts";
import { type GatewayOptions, startGateway, type TestGateway, testKey } from "../harness.ts";

/** An address at which nothing listens. */
export const unreachableUrl = "http://127.0.0.1:9/v1";

export const upstreamKey = "sk-upstream-1f2e3d4c5b6a";
/** In a header of the configuration; as secret as the key. */
export const upstreamToken = "token-9a8b7c6d5e4f";

export interface FaultSetup {
  readonly fakes: readonly Fake[];
  readonly fake: Fake;
  readonly gateway: TestGateway;
  close(): Promise<void>;
}

interface FaultSetupOptions extends Partial<Pick<GatewayOptions, "settings" | "maxResponseBytes">> {
  /** Of the image model, such as ` onDisconnect: cancel,`. */
  readonly imageOptions?: string;
  /** The number of upstreams of each model, in this order. */
  readonly upstreams?: number;
  /** By index: an address that replaces the fake's. */
  readonly addresses?: readonly (string | undefined)[];
}

/** A gateway whose models have other names than their targets. */
export function startFaultSetup({
  upstreams = 1,
  addresses = [],
  imageOptions = "",
  ...options
}: FaultSetupOptions = {}): FaultSetup {
  const fakes = Array.from({ length: upstreams }, (): Fake => {
    const fake = startFake({ key: upstreamKey });
    return {
      ...fake,
      // The health of a target does not carry over to the next test.
      clear: () => {
        fake.clear();
        gateway.resetTargets();
      },
    };
  });
  const urls = fakes.map(({ url }, at) => addresses[at] ?? url);
  const targets = (model: string) =>
    `[${urls.map((_, at) => `{ upstream: hidden-${at}, model: ${model}, tier: ${at} }`).join(", ")}]`;
  const gateway = startGateway({
    ...options,
    yaml: `
upstreams:
${urls.map((url, at) => `  - { id: hidden-${at}, kind: openai, baseUrl: "${url}", apiKey: ${upstreamKey}, headers: { x-proxy-token: ${upstreamToken} } }`).join("\n")}
models:
  - { id: vectors, kind: embedding, targets: ${targets("custom-embedding-1")} }
  - { id: sized-vectors, kind: embedding, dimensions: 1536, targets: ${targets("custom-embedding-1")} }
  - { id: image-model, kind: image,${imageOptions} targets: ${targets("gpt-image-1.5")} }
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

export const send = {
  embeddings: ({ gateway }: FaultSetup, more: object = {}): Promise<Response> =>
    gateway.post("/v1/embeddings", { model: "vectors", input: ["a", "b"], ...more }),
  image: ({ gateway }: FaultSetup, more: object = {}): Promise<Response> =>
    gateway.post("/v1/images/generations", { model: "image-model", prompt: "an otter", ...more }),
  edit: ({ gateway }: FaultSetup, form: FormData): Promise<Response> =>
    fetch(`${gateway.baseURL}/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}` },
      body: form,
    }),
};

export interface ExpectedError {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  /** In the ledger. */
  readonly error: ErrorKind;
  readonly attempts?: number;
  /** Images that were billed and could not be delivered. */
  readonly images?: number;
}

/** The error of a failed upstream, whose code is also its kind in the ledger. */
export const upstreamFailure = (error: ErrorKind, status = 502): ExpectedError => ({
  status,
  type: "server_error",
  code: error,
  error,
});

/** An upstream response with a JSON body. */
export const jsonResponse = (
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): InjectedFault => ({
  response: {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  },
});

export interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** Expects the error in OpenAI's format, without internal details, and a ledger row with the same error. */
export async function expectError(
  setup: FaultSetup,
  response: Response,
  { status, type, code, error: kind, attempts = 1, images }: ExpectedError,
): Promise<ErrorBody> {
  const text = await response.text();
  expect(response.status, text).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json");
  const { error, ...others } = JSON.parse(text) as { error: ErrorBody };
  expect(others).toEqual({});
  expect(error).toMatchObject({ type, code });
  expect(error.message).toBeString();
  expect(error.message).not.toBe("");
  expect(error.param === null || typeof error.param === "string").toBe(true);
  expectNoSecrets(setup, response, text);
  expect(rowOf(setup, response)).toMatchObject({
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

/** Neither headers nor body disclose the upstream. */
export function expectNoSecrets(
  { fakes, gateway }: FaultSetup,
  response: Response,
  text: string,
): void {
  const visible = `${JSON.stringify([...response.headers])}\n${text}`;
  const secrets = [
    upstreamKey,
    upstreamToken,
    "org-fake",
    "proj_fake",
    "openai-organization",
    "custom-embedding-1",
    "gpt-image-1.5",
    "hidden-",
    gateway.folder,
    import.meta.dir.replace(/\/test\/.*$/, ""),
    ".ts:",
    "node_modules",
    ...fakes.flatMap(({ url }) => [url, new URL(url).host]),
  ];
  for (const secret of secrets) expect(visible).not.toContain(secret);
}

/** The ledger row of this response. */
export function rowOf({ gateway }: FaultSetup, response: Response): LedgerRow {
  const id = response.headers.get("x-request-id");
  const row = gateway.rows().find(({ requestId }) => requestId === id);
  if (!row) throw new Error(`the ledger has no row for ${id}`);
  return row;
}

export interface EmbeddingsBody {
  readonly model: string;
  readonly data: { readonly index: number; readonly embedding: number[] | string }[];
}

/** Expects the vectors of `texts`, bit for bit, in either encoding. */
export async function expectVectors(
  response: Response,
  texts: readonly string[] = ["a", "b"],
  dimensions = 1536,
): Promise<void> {
  const body = await response.text();
  expect(response.status, body.slice(0, 300)).toBe(200);
  const { data } = JSON.parse(body) as EmbeddingsBody;
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
