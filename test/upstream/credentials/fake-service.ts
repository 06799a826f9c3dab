/** A metadata or token service for tests: it can throttle, fail and hang as the real ones do. */
import type { CredentialContext, Environment } from "../../../server/upstream/adapter.ts";
import { createTransport } from "../../../server/upstream/transport/index.ts";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly form: URLSearchParams;
  readonly body: string;
}

export type Respond = (received: Received) => Response;

interface FakeService {
  readonly url: string;
  readonly host: string;
  readonly received: Received[];
  /** The next requests get these responses instead. */
  readonly next: (Response | "hang")[];
  /** Every request gets such a response instead. */
  instead: (() => Response | "hang") | undefined;
}

const open: { stop(force: boolean): unknown }[] = [];

export function startService(respond: Respond): FakeService {
  const received: Received[] = [];
  const service: FakeService = { url: "", host: "", received, next: [], instead: undefined };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const body = await request.text();
      const entry: Received = {
        method: request.method,
        path: pathname,
        query: searchParams,
        headers: request.headers,
        form: new URLSearchParams(body),
        body,
      };
      received.push(entry);
      const instead = service.next.shift() ?? service.instead?.();
      if (instead === "hang") return new Promise<Response>(() => undefined);
      return instead ?? respond(entry);
    },
  });
  open.push(server);
  const host = `127.0.0.1:${server.port}`;
  return Object.assign(service, { url: `http://${host}`, host });
}

export async function stopServices(): Promise<void> {
  for (const server of open.splice(0)) await server.stop(true);
}

/** Sends real requests. `standIns`: services in place of the origins of the Internet. */
export function contextWith(
  env: Environment,
  now: () => number = Date.now,
  standIns: Readonly<Record<string, string>> = {},
): CredentialContext {
  const transport = createTransport({
    maxResponseBytes: 1024 * 1024,
    clock: () => performance.now(),
    fetchOnly: { http: false, https: false },
  });
  open.push({ stop: transport.close });
  const send: CredentialContext["send"] = (request, signal) => {
    const { origin } = new URL(request.url);
    return transport.send(
      { ...request, url: request.url.replace(origin, standIns[origin] ?? origin) },
      signal,
    );
  };
  const { signal } = new AbortController();
  return { send, sendToMetadata: send, now, env, signal };
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers });
