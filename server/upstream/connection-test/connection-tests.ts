/** The connection tests of upstreams, without a connection to an address of the local link. */
import type { ModelKind } from "../../../contract/model-kinds.ts";
import type { RequestTemp } from "../../temp-storage/request-temp.ts";
import type { UpstreamClient } from "../client.ts";
import type { Target, Upstream } from "../contract.ts";
import { type CredentialCache, createCredentialCache } from "../credentials/credential-cache.ts";
import { guardLinkLocal, systemResolve } from "../download/index.ts";
import type { FetchOnly, SendUpstreamRequest } from "../transport/index.ts";
import type { ConnectionTestResult, TestConnectionOptions } from "./test-connection.ts";

interface ConnectionTestsOptions {
  readonly send: SendUpstreamRequest;
  readonly sendToMetadata: SendUpstreamRequest;
  readonly fetchOnly: FetchOnly;
  /** Creates a client that sends requests with `send`. */
  readonly createClient: (
    send: SendUpstreamRequest,
    credentials: CredentialCache,
  ) => Pick<UpstreamClient, "embeddings" | "generations">;
  readonly createTemp: (keyId: string) => RequestTemp;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** The timeout of each step. */
const timeoutMs = 8000;
const text = "connection test";

export type ConnectionTests = ReturnType<typeof createConnectionTests>;

export function createConnectionTests(options: ConnectionTestsOptions) {
  const {
    send: sendAnywhere,
    sendToMetadata,
    fetchOnly,
    createClient,
    createTemp,
    now,
    clock,
  } = options;
  const isProxied = ({ protocol }: URL): boolean =>
    protocol === "https:" ? fetchOnly.https : fetchOnly.http;
  const send = guardLinkLocal({ send: sendAnywhere, resolve: systemResolve, isProxied });
  const credentials = createCredentialCache({
    send,
    sendToMetadata,
    now,
    env: process.env,
  });
  const upstreamClient = createClient(send, credentials);
  return {
    testConnection: async (
      upstream: Upstream,
      { paidRequest }: Pick<TestConnectionOptions, "paidRequest">,
    ): Promise<ConnectionTestResult> => {
      // Loaded on demand: few gateways ever test a connection.
      const { testConnection } = await import("./test-connection.ts");
      return testConnection(upstream, {
        send,
        credentials,
        clock,
        timeoutMs,
        paidRequest,
        resolve: systemResolve,
        isProxied,
      });
    },
    /** Embeds a short text or generates an image. Rejects if that fails. */
    sendTestRequest: async (
      target: Target,
      kind: ModelKind,
      signal: AbortSignal,
    ): Promise<unknown> => {
      const { model } = target;
      if (kind === "embedding") {
        const input = { kind: "text", texts: [text] } as const;
        const query = { model, input, single: true, encoding: "float", extraFields: {} } as const;
        return upstreamClient.embeddings({ query, target, signal: () => signal });
      }
      const temp = createTemp("connection-test");
      try {
        const query = { model, prompt: text, stream: false, options: {}, extraFields: {} };
        return await upstreamClient.generations({ query, target, signal: () => signal, temp });
      } finally {
        await temp.clear();
      }
    },
  };
}
