/** Upstreams that need an access token: it is fetched once, and renewed in time without delaying a request. */
import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, verify } from "node:crypto";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { Adapter, UpstreamRequest, UpstreamResponse } from "../../server/upstream/adapter.ts";
import { bedrock } from "../../server/upstream/adapters/amazon/bedrock.ts";
import { vertex } from "../../server/upstream/adapters/google/vertex.ts";
import { createUpstreamClient } from "../../server/upstream/client.ts";
import { isReachable } from "../../server/upstream/connection-test/check-health.ts";
import { testConnection } from "../../server/upstream/connection-test/test-connection.ts";
import type { Target, Upstream } from "../../server/upstream/contract.ts";
import { createCredentialCache } from "../../server/upstream/credentials/credential-cache.ts";
import { systemResolve } from "../../server/upstream/download/index.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { embeddingsQuery } from "../laws/adapter-responses.ts";

const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
const keyFile = {
  type: "service_account",
  client_email: "gateway@otters-4711.iam.gserviceaccount.com",
  private_key: keys.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  private_key_id: "key-1",
  token_uri: "https://oauth2.example/token",
};

/** Parses a service account as the configuration does. */
const readAccount = (text: string) => vertex.kind.options.serviceAccount?.safeParse(text);

const upstreamOf = (options: Record<string, unknown> = {}): Upstream => ({
  id: "vertex",
  kind: "vertex",
  headers: {},
  options: {
    project: "otters-4711",
    location: "us-central1",
    serviceAccount: readAccount(JSON.stringify(keyFile))?.data,
    ...options,
  },
});

const query = embeddingsQuery(1);
const vectors = '{"predictions":[{"embeddings":{"values":[0.5]}}]}';
const hour = 3_600_000;

interface TokenSetup {
  now: number;
  /** The response of the token service: by default, a numbered token. */
  exchange: (count: number) => UpstreamResponse | Promise<UpstreamResponse>;
  /** The response of the upstream to this token. */
  response: (token: string | undefined) => UpstreamResponse;
}

const granted = (count: number): UpstreamResponse =>
  upstreamResponseOf(
    JSON.stringify({ access_token: `token-${count}`, expires_in: 3600, token_type: "Bearer" }),
  );

function arrange(overrides: Partial<TokenSetup> = {}) {
  const setup: TokenSetup = {
    now: Date.parse("2026-01-01T00:00:00Z"),
    exchange: granted,
    response: () => upstreamResponseOf(vectors),
    ...overrides,
  };
  const tokenRequests: UpstreamRequest[] = [];
  const sent: UpstreamRequest[] = [];
  const send = async (request: UpstreamRequest): Promise<UpstreamResponse> => {
    if (request.url === keyFile.token_uri) {
      tokenRequests.push(request);
      return setup.exchange(tokenRequests.length);
    }
    sent.push(request);
    return setup.response(request.headers.authorization);
  };
  const credentials = createCredentialCache({ send, now: () => setup.now, env: {} });
  const adapters = new Map<string, Adapter>([["vertex", vertex.adapter]]);
  const reach = createUpstreamClient({
    adapters,
    builtInModels: new Map(),
    send,
    credentials,
    now: () => setup.now,
  });
  const target: Target = { upstream: upstreamOf(), model: "text-embedding-005" };
  const call = ({ signal } = new AbortController(), to = target) =>
    reach.embeddings({ query, target: to, signal: () => signal });
  return { setup, tokenRequests, sent, call, send, credentials, target };
}

const errorKindOf = async (doing: Promise<unknown>): Promise<GatewayError> => {
  const error = await doing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof GatewayError)) throw new Error(`no GatewayError but ${String(error)}`);
  return error;
};

/** Runs all pending microtasks. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

describe("a token", () => {
  test("is fetched once for all requests that need it", async () => {
    const { tokenRequests, sent, call } = arrange();
    await Promise.all([call(), call(), call()]);
    await call();
    expect(tokenRequests).toHaveLength(1);
    expect(sent.map(({ headers }) => headers.authorization)).toEqual(
      new Array(4).fill("Bearer token-1"),
    );
  });

  test("is requested with an assertion that the account's key signed", async () => {
    const { tokenRequests, call, setup } = arrange();
    await call();
    const form = new URLSearchParams(tokenRequests[0]?.body as string);
    expect(form.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const [head = "", claims = "", signature = ""] = (form.get("assertion") ?? "").split(".");
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    expect(read(head)).toEqual({ alg: "RS256", typ: "JWT", kid: "key-1" });
    expect(read(claims)).toEqual({
      iss: keyFile.client_email,
      scope: "https://www.googleapis.com/auth/cloud-platform",
      aud: keyFile.token_uri,
      iat: setup.now / 1000,
      exp: setup.now / 1000 + 3600,
    });
    const proof = Buffer.from(signature, "base64url");
    const text = Buffer.from(`${head}.${claims}`);
    expect(verify("RSA-SHA256", text, keys.publicKey, proof)).toBe(true);
  });

  test("is renewed before it expires, while requests use the old one", async () => {
    const { setup, tokenRequests, sent, call } = arrange();
    await call();
    setup.now += hour - 301_000;
    await call();
    expect(tokenRequests).toHaveLength(1);
    setup.now += 2000;
    const { promise, resolve } = Promise.withResolvers<UpstreamResponse>();
    setup.exchange = () => promise;
    await Promise.all([call(), call()]);
    expect(tokenRequests).toHaveLength(2);
    resolve(granted(2));
    await settle();
    await call();
    expect(sent.map(({ headers }) => headers.authorization?.at(-1))).toEqual([
      "1",
      "1",
      "1",
      "1",
      "2",
    ]);
    expect(tokenRequests).toHaveLength(2);
  });

  test("that cannot be renewed is used until it expires, and renewals are retried with a delay", async () => {
    const { setup, tokenRequests, call } = arrange();
    await call();
    setup.exchange = () => upstreamResponseOf("", { status: 503 });
    setup.now += hour - 200_000;
    for (let i = 0; i < 5; i++) {
      await call();
      await settle();
    }
    expect(tokenRequests).toHaveLength(2);
    setup.now += 200_000;
    expect((await errorKindOf(call())).kind).toBe("upstream_unreachable");
    setup.exchange = granted;
    await call();
  });

  test("that the upstream refuses is replaced, and the request is sent once more: no client sees the refusal", async () => {
    for (const [status, ageMs] of [
      [401, 0],
      // A permission that the account lacks has this status too.
      [403, 30_000],
    ] as const) {
      const { setup, tokenRequests, sent, call } = arrange();
      await call();
      setup.now += ageMs;
      setup.response = (token) =>
        token === "Bearer token-1"
          ? upstreamResponseOf("{}", { status })
          : upstreamResponseOf(vectors);
      await Promise.all([call(), call()]);
      expect(tokenRequests).toHaveLength(2);
      expect(sent.map(({ headers }) => headers.authorization?.at(-1)).join("")).toBe("11122");
    }
  });

  test("that the upstream refuses twice is an error that names no apiKey, and a missing permission fetches none", async () => {
    const { setup, tokenRequests, sent, call } = arrange();
    setup.response = () => upstreamResponseOf("{}", { status: 401 });
    const error = await errorKindOf(call());
    expect(error.kind).toBe("upstream_credentials");
    expect(error.message).toContain("check the upstream's credentials");
    expect([tokenRequests.length, sent.length]).toEqual([2, 2]);
    setup.response = () => upstreamResponseOf("{}", { status: 403 });
    expect((await errorKindOf(call())).kind).toBe("upstream_forbidden");
    expect([tokenRequests.length, sent.length]).toEqual([2, 3]);
  });

  test("that lacks a permission serves the other requests when the token service is down", async () => {
    const { setup, tokenRequests, sent, call } = arrange();
    await call();
    setup.now += 30_000;
    const { promise, resolve } = Promise.withResolvers<UpstreamResponse>();
    setup.exchange = () => promise;
    setup.response = () => upstreamResponseOf("{}", { status: 403 });
    const forbidden = errorKindOf(call());
    await settle();
    expect(tokenRequests).toHaveLength(2);
    setup.response = () => upstreamResponseOf(vectors);
    await call();
    resolve(upstreamResponseOf("", { status: 503 }));
    expect((await forbidden).kind).toBe("upstream_forbidden");
    await call();
    expect(sent.map(({ headers }) => headers.authorization?.at(-1)).join("")).toBe("1111");
  });

  test("that the operator configures is used unchanged", async () => {
    const { tokenRequests, sent, call, target } = arrange();
    await call(undefined, { ...target, upstream: { ...target.upstream, apiKey: "ya29.ready" } });
    expect(tokenRequests).toHaveLength(0);
    expect(sent[0]?.headers.authorization).toBe("Bearer ya29.ready");
  });

  test("is used for its own upstream only", async () => {
    const { tokenRequests, call, target } = arrange();
    await call();
    await call(undefined, { ...target, upstream: upstreamOf() });
    expect(tokenRequests).toHaveLength(2);
  });
});

describe("a token service that fails", () => {
  const outcome = async (
    response: () => UpstreamResponse | Promise<UpstreamResponse>,
  ): Promise<GatewayError> => errorKindOf(arrange({ exchange: response }).call());

  test("is a credentials error if it refuses them, and nothing was billed", async () => {
    for (const status of [400, 401, 403]) {
      const body = '{"error":"invalid_grant","error_description":"Invalid JWT Signature."}';
      const error = await outcome(() => upstreamResponseOf(body, { status }));
      expect(error.kind).toBe("upstream_credentials");
      expect(error.details.notSent).toBe(true);
      expect(error.message).not.toContain("gserviceaccount");
    }
  });

  test("is unreachable if it fails or sends an invalid response", async () => {
    for (const response of [
      () => upstreamResponseOf("<html>", { status: 502 }),
      () => upstreamResponseOf("slow down", { status: 429 }),
      () => upstreamResponseOf("<html>sign in to the hotel's network</html>"),
      async () => Promise.reject(new GatewayError("upstream_unreachable", "no way")),
    ]) {
      const error = await outcome(response);
      expect(error.kind).toBe("upstream_unreachable");
      expect(error.details.notSent).toBe(true);
    }
  });

  test("that responds without a token is an error", async () => {
    for (const body of [
      "{}",
      "null",
      '{"access_token":"","expires_in":1}',
      '{"access_token":"a"}',
    ]) {
      expect((await outcome(() => upstreamResponseOf(body))).kind).toBe("upstream_credentials");
    }
  });

  test("does not delay a client that disconnects, and the other requests continue", async () => {
    const { promise, resolve } = Promise.withResolvers<UpstreamResponse>();
    const { call, tokenRequests } = arrange({ exchange: () => promise });
    const disconnected = new AbortController();
    const [left, stays] = [errorKindOf(call(disconnected)), call()];
    await settle();
    disconnected.abort(new GatewayError("client_closed", "gone"));
    expect((await left).kind).toBe("client_closed");
    resolve(granted(1));
    await stays;
    expect(tokenRequests).toHaveLength(1);
  });
});

describe("keys that a cloud issues", () => {
  const credential = (count: number) => ({
    value: { accessKeyId: `ASIA${count}`, secretAccessKey: "secret", sessionToken: `s${count}` },
    lastsMs: hour,
  });
  const aws: Upstream = {
    id: "aws",
    kind: "bedrock",
    headers: {},
    options: { region: "eu-west-1", family: "titan" },
  };

  function arrangeKeys(response: (key: string) => UpstreamResponse) {
    let issued = 0;
    const signed: string[] = [];
    const issue = async () => {
      issued += 1;
      return credential(issued);
    };
    const adapter: Adapter = { ...bedrock.adapter, credential: () => ({ issue }) };
    const send = async ({ headers }: UpstreamRequest) => {
      const key = /Credential=(ASIA\d+)\//.exec(headers.authorization ?? "")?.[1] ?? "";
      signed.push(`${key} ${headers["x-amz-security-token"]}`);
      return response(key);
    };
    const clock = { now: Date.parse("2026-01-01T00:00:00Z") };
    const client = createUpstreamClient({
      adapters: new Map([["bedrock", adapter]]),
      builtInModels: new Map(),
      send,
      credentials: createCredentialCache({ send, now: () => clock.now, env: {} }),
      now: () => clock.now,
    });
    const { signal } = new AbortController();
    const target = { upstream: aws, model: "profile" };
    const call = () => client.embeddings({ query, target, signal: () => signal });
    return { call, signed, clock };
  }

  const served = '{"embedding":[0.5],"inputTextTokenCount":1}';

  test("sign every request, and are replaced before they expire", async () => {
    const { call, signed, clock } = arrangeKeys(() => upstreamResponseOf(served));
    await Promise.all([call(), call()]);
    clock.now += hour - 200_000;
    await call();
    await settle();
    await call();
    expect(signed).toEqual(["ASIA1 s1", "ASIA1 s1", "ASIA1 s1", "ASIA2 s2"]);
  });

  test("that AWS reports as expired are replaced at once", async () => {
    const expired = () =>
      upstreamResponseOf('{"message":"The security token included in the request is expired"}', {
        status: 403,
        headers: { "x-amzn-errortype": "ExpiredTokenException" },
      });
    const { call, signed } = arrangeKeys((key) =>
      key === "ASIA1" ? expired() : upstreamResponseOf(served),
    );
    await call();
    await call();
    expect(signed).toEqual(["ASIA1 s1", "ASIA2 s2", "ASIA2 s2"]);
  });

  test("that may not use a model stay: other keys of the same role may not either", async () => {
    const denied = () =>
      upstreamResponseOf('{"message":"You do not have access to the model."}', {
        status: 403,
        headers: { "x-amzn-errortype": "AccessDeniedException" },
      });
    const { call, signed } = arrangeKeys(denied);
    await errorKindOf(call());
    await errorKindOf(call());
    expect(signed).toEqual(["ASIA1 s1", "ASIA1 s1"]);
  });
});

describe("a key of Vertex's express mode", () => {
  const upstream = { id: "v", kind: "vertex", apiKey: "AQ.express", headers: {}, options: {} };

  /**
   * google-genai 3.3.0, `Client(vertexai=True, api_key=…)`, with its requests recorded on 2026-11-18: these paths, at
   * `aiplatform.googleapis.com`, and the key in `x-goog-api-key`. Its version of the API is v1beta1.
   */
  test.each([
    ["text-embedding-005", "predict"],
    ["gemini-embedding-001", "predict"],
    ["gemini-embedding-2", "embedContent"],
    ["gemini-2.5-flash-image", "generateContent"],
  ])("has the path of Google's own client: %s", (model, method) => {
    const target = { upstream, model };
    const image = { model: "m", prompt: "an otter", stream: false, options: {}, extraFields: {} };
    const { embeddings, generations } = vertex.adapter;
    const request =
      method === "generateContent"
        ? generations?.toUpstream(image, target)
        : embeddings?.toUpstream(embeddingsQuery(1), target);
    expect(request?.url).toBe(
      `https://aiplatform.googleapis.com/v1/publishers/google/models/${model}:${method}`,
    );
    expect(request?.headers).toMatchObject({ "x-goog-api-key": "AQ.express" });
  });

  test("is exchanged for no token", async () => {
    const { call, sent, tokenRequests } = arrange();
    await call(undefined, { upstream, model: "text-embedding-005" });
    expect(tokenRequests).toEqual([]);
    expect(sent[0]?.headers.authorization).toBeUndefined();
  });
});

test("a connection test and a health check fetch a token, and the test reports who refused it", async () => {
  const { send, credentials, setup, sent } = arrange();
  const options = {
    send,
    credentials,
    timeoutMs: 1000,
    clock: () => performance.now(),
    resolve: systemResolve,
    isProxied: () => true,
  };
  const good = await testConnection(upstreamOf(), options);
  expect(good).toMatchObject({ reachable: true, credential: "accepted", problem: null });
  expect(sent[0]?.headers.authorization).toBe("Bearer token-1");
  expect(await isReachable(upstreamOf(), options)).toBe(true);
  setup.exchange = () => upstreamResponseOf("{}", { status: 400 });
  const bad = await testConnection(upstreamOf(), options);
  expect(bad.credential).toBe("refused");
  expect(bad.problem).toContain("credentials");
  expect(await isReachable(upstreamOf(), options)).toBe(false);
});

test("the error about an invalid service account does not quote it", () => {
  const secret = "otterotterotter";
  for (const text of [
    secret,
    JSON.stringify({ ...keyFile, private_key: secret }),
    JSON.stringify({ ...keyFile, client_email: undefined, private_key: secret }),
    JSON.stringify({ ...keyFile, token_uri: `file:///${secret}` }),
  ]) {
    const read = readAccount(text);
    expect(read?.success).toBe(false);
    expect(JSON.stringify(read?.error?.issues)).not.toContain(secret);
  }
});
