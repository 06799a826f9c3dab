/** Wires the connection tests of upstreams. */
import type { AdminDependencies } from "../admin/admin-dependencies.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import { guardLinkLocal, systemResolve } from "../upstream/download/index.ts";
import type { FetchOnly, SendUpstreamRequest } from "../upstream/transport/index.ts";
import type { Runtime } from "./runtime.ts";

interface ConnectionTestsOptions {
  readonly send: SendUpstreamRequest;
  readonly fetchOnly: FetchOnly;
  /** Creates a client that sends requests with `send`. */
  readonly createClient: (
    send: SendUpstreamRequest,
  ) => Pick<UpstreamClient, "embeddings" | "generations">;
  readonly createTemp: (keyId: string) => RequestTemp;
}

/** The timeout of each step. */
const timeoutMs = 8000;
const text = "connection test";

export function wireConnectionTests(
  { now, clock }: Runtime,
  { send: sendAnywhere, fetchOnly, createClient, createTemp }: ConnectionTestsOptions,
): Pick<AdminDependencies, "testConnection" | "sendTestRequest"> {
  const isProxied = ({ protocol }: URL): boolean =>
    protocol === "https:" ? fetchOnly.https : fetchOnly.http;
  const send = guardLinkLocal({ send: sendAnywhere, resolve: systemResolve, isProxied });
  const upstreamClient = createClient(send);
  return {
    testConnection: async (upstream, { paidRequest }) => {
      // Loaded on demand: few gateways ever test a connection.
      const { testConnection } = await import("../upstream/connection-test/test-connection.ts");
      return testConnection(upstream, {
        send,
        now,
        clock,
        timeoutMs,
        paidRequest,
        resolve: systemResolve,
        isProxied,
      });
    },
    sendTestRequest: async (target, kind, signal) => {
      const { model } = target;
      if (kind === "embedding") {
        const input = { kind: "text", texts: [text] } as const;
        const query = { model, input, single: true, encoding: "float", extraFields: {} } as const;
        return upstreamClient.embeddings({ query, target, signal });
      }
      const temp = createTemp("connection-test");
      try {
        const query = { model, prompt: text, stream: false, options: {}, extraFields: {} };
        return await upstreamClient.generations({ query, target, signal, temp });
      } finally {
        await temp.clear();
      }
    },
  };
}
