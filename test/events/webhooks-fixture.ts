/** Fixture for events and webhooks: a real receiver, a gateway that sends to it, and the admin API. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { asDocumented } from "../admin/documented-responses.ts";
import { type GatewayOptions, startGateway, type TestGateway, testKey } from "../harness.ts";

export const adminToken = "admin-0123456789abcdef";
export const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;

export interface Received {
  readonly id: string;
  readonly timestamp: string;
  readonly headers: Headers;
  readonly body: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Milliseconds, monotonic. */
  readonly at: number;
}

interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** The received events of one type. */
  of(type: string): readonly Received[];
  close(): void;
}

export type Respond = (received: Received, count: number) => Response | Promise<Response>;

const ok: Respond = () => new Response("thanks");

/** `port`: for a receiver that restarts at the same address. */
export function startReceiver(respond: Respond = ok, port = 0): Receiver {
  const received: Received[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port,
    idleTimeout: 255,
    fetch: async (request) => {
      const body = await request.text();
      const { type, data } = JSON.parse(body) as Pick<Received, "type" | "data">;
      const { headers } = request;
      const reported: Received = {
        id: headers.get("webhook-id") ?? "",
        timestamp: headers.get("webhook-timestamp") ?? "",
        headers,
        body,
        type,
        data,
        at: performance.now(),
      };
      received.push(reported);
      return respond(reported, received.length);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/hooks?token=do-not-emitEvent`,
    received,
    of: (type) => received.filter((each) => each.type === type),
    close: () => void server.stop(true),
  };
}

/** Written from the specification alone: Standard Webhooks 1.0.0, "Verifying signatures". */
export function isGenuine({ headers, body }: Received, key: string): boolean {
  const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
  const bytes = Buffer.from(key.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", bytes).update(signed, "utf8").digest();
  return (headers.get("webhook-signature") ?? "").split(" ").some((each) => {
    const [version, signature = ""] = each.split(",");
    const signatureBytes = Buffer.from(signature, "base64");
    return (
      version === "v1" &&
      signatureBytes.length === expected.length &&
      timingSafeEqual(signatureBytes, expected)
    );
  });
}

export const webhookYaml = (...receivers: readonly { url: string; events?: string }[]): string =>
  `webhooks:\n${receivers
    .map(
      ({ url, events }) =>
        `  - { url: "${url}", secret: "${secret}"${events ? `, events: ${events}` : ""} }`,
    )
    .join("\n")}\n`;

export interface Watched extends TestGateway {
  /** A request with the admin token: the body of a response, which must be 200. */
  getAdmin<T>(path: string, method?: "GET" | "POST"): Promise<T>;
}

/** A gateway with the admin API on. */
export function startWithAdmin({ yaml, settings, ...more }: GatewayOptions): Watched {
  const gateway = startGateway({
    yaml: `keys: [{ name: test, key: ${testKey} }]\n${yaml}`,
    settings: { VEXEL_ADMIN_TOKEN: adminToken, ...settings },
    ...more,
  });
  return { ...gateway, getAdmin: (path, method) => getAdmin(gateway.url, path, method) };
}

export async function getAdmin<T>(url: string, path: string, method = "GET"): Promise<T> {
  const response = await asOperator(url, path, method);
  if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
  return (await response.json()) as T;
}

/** A request with the admin token. `body`: sent as JSON. */
export async function asOperator(
  url: string,
  path: string,
  method = "GET",
  body?: object,
): Promise<Response> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return asDocumented(response, method, adminToken);
}

/** A numbered event without side effects. */
export const emitEvent = ({ events }: Pick<TestGateway, "events">, count: number | string): void =>
  events.emit({ type: "config.reloaded", data: { changes: String(count) } });
