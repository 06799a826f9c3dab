/** Credentials that are exchanged for a token: the request to the token service, and the validation of its response. */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { EmbeddingsQuery, Upstream } from "../../server/upstream/contract.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";

const upstream = (kind: string, options: Upstream["options"] = {}): Upstream => ({
  id: kind,
  kind,
  baseUrl: "https://upstream.example",
  apiKey: "secret-0123456789",
  headers: {},
  options,
});

const plainQuery: EmbeddingsQuery = {
  model: "public-model",
  input: { kind: "text", texts: ["an otter"] },
  single: true,
  encoding: "float",
  extraFields: {},
};

const granted = JSON.stringify({ access_token: "token", token_type: "Bearer", expires_in: 3600 });

/** The requests that are sent for a token, and the token. */
async function exchange(of: Upstream, response = granted) {
  const credential = adapters.get(of.kind)?.credential?.(of);
  if (!credential) throw new Error(`${of.kind} exchanges nothing`);
  const sent: UpstreamRequest[] = [];
  const send = async (request: UpstreamRequest) => {
    sent.push(request);
    return upstreamResponseOf(response);
  };
  const { signal } = new AbortController();
  const context = { send, sendToMetadata: send, now: () => 0, env: {}, signal };
  const issued = await credential.issue(context);
  return { sent, issued };
}

const basic = (id: string): string => `Basic ${btoa(`${id}:secret-0123456789`)}`;
const form = "application/x-www-form-urlencoded";

test("IBM's key goes to IBM's IAM service, or to the IAM service that the configuration names", async () => {
  const ours = upstream("watsonx");
  expect((await exchange(ours)).sent).toEqual([
    {
      url: "https://iam.cloud.ibm.com/identity/token",
      headers: { accept: "application/json", "content-type": form },
      body: "grant_type=urn%3Aibm%3Aparams%3Aoauth%3Agrant-type%3Aapikey&apikey=secret-0123456789",
    },
  ]);
  const other = upstream("watsonx", { iamUrl: "https://iam.test.cloud.ibm.com/identity/token" });
  expect((await exchange(other)).sent[0]?.url).toBe(
    "https://iam.test.cloud.ibm.com/identity/token",
  );
});

test("watsonx with another credential needs no token", () => {
  const proven = { ...upstream("watsonx"), headers: { Authorization: "ZenApiKey abc" } };
  expect(adapters.get("watsonx")?.credential?.(proven)).toBeUndefined();
});

test("a service principal's secret goes to Databricks' token service, a personal token nowhere", async () => {
  const principal = upstream("databricks", { clientId: "6128a518" });
  expect((await exchange(principal)).sent).toEqual([
    {
      url: "https://upstream.example/oidc/v1/token",
      headers: { authorization: basic("6128a518"), "content-type": form },
      body: "grant_type=client_credentials&scope=all-apis",
    },
  ]);
  expect(adapters.get("databricks")?.credential?.(upstream("databricks"))).toBeUndefined();
});

test("SAP's secret goes to the address of its service key, with or without the path", async () => {
  for (const authUrl of ["https://auth.example", "https://auth.example/oauth/token"]) {
    const ours = upstream("sap", { authUrl, clientId: "sb-otters" });
    expect((await exchange(ours)).sent).toEqual([
      {
        url: "https://auth.example/oauth/token",
        headers: { authorization: basic("sb-otters"), "content-type": form },
        body: "grant_type=client_credentials",
      },
    ]);
  }
});

test("GigaChat's key goes to its token service, with a scope and an id of the request", async () => {
  for (const [options, url, scope] of [
    [{}, "https://ngw.devices.sberbank.ru:9443/api/v2/oauth", "GIGACHAT_API_PERS"],
    [
      { authUrl: "https://auth.example/oauth", scope: "GIGACHAT_API_CORP" },
      "https://auth.example/oauth",
      "GIGACHAT_API_CORP",
    ],
  ] as const) {
    const [sent] = (await exchange(upstream("gigachat", options))).sent;
    expect(sent).toMatchObject({ url, body: `scope=${scope}` });
    const { rquid, ...headers } = sent?.headers ?? {};
    expect(headers).toEqual({ authorization: "Basic secret-0123456789", "content-type": form });
    expect(rquid).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  }
});

test("GigaChat reports when a token expires, in milliseconds", async () => {
  const response = '{"access_token":"token","expires_at":1800000}';
  const { issued } = await exchange(upstream("gigachat"), response);
  expect(issued).toEqual({ value: "token", lastsMs: 1_800_000 });
});

const exchanging = [
  upstream("watsonx"),
  upstream("databricks", { clientId: "a" }),
  upstream("sap", { authUrl: "https://auth.example", clientId: "a" }),
  upstream("gigachat"),
];

describe.each(exchanging.map((of) => [of.kind, of] as const))("%s:", (_kind, of) => {
  test("the key itself is in no upstream request, and in no probe", () => {
    const adapter = adapters.get(of.kind);
    const request = adapter?.embeddings?.toUpstream(plainQuery, { upstream: of, model: "m" });
    const sent = JSON.stringify([request, adapter?.probe?.(of), adapter?.models?.request(of)]);
    expect(sent).not.toContain("secret-0123456789");
    expect(sent).not.toContain("authorization");
  });

  test("a token is valid as long as its service reports", async () => {
    expect((await exchange(of)).issued).toEqual({ value: "token", lastsMs: 3_600_000 });
  });

  test("a response without a valid token is an error", async () => {
    for (const odd of [
      "{}",
      "null",
      "[]",
      '{"access_token":"","expires_in":1}',
      '{"access_token":"a"}',
      '{"access_token":"a","expires_in":0}',
      '{"access_token":["a"],"expires_in":1}',
    ]) {
      const thrown = await exchange(of, odd).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(thrown, odd).toBeInstanceOf(GatewayError);
    }
  });
});
