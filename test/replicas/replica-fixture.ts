/** Gateways as separate processes that share one PostgreSQL database, and clients that send requests to them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { closeAfterEach } from "../clean-up.ts";
import { configFor, type GatewayProcess, startProcess } from "../harness.ts";
import { bearer, embeddingModel } from "../http/gateway-fixture.ts";
import type { PostgresServer } from "../storage/postgres-server.ts";
import { databaseName } from "../storage/postgres-server.ts";

export const sharedSecret = "a secret of all replicas".replaceAll(" ", "-");

interface ReplicaOptions {
  /** The parent of the replicas' folders. */
  readonly folder: string;
  readonly name: string;
  readonly databaseUrl: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A script that runs before the gateway. */
  readonly preload?: string;
}

/**
 * Returns a function that starts replicas with this upstream. They are killed after each test of the file that calls
 * this.
 */
export function replicaStarter(fakeUrl: string) {
  const closing = closeAfterEach();
  return async (options: ReplicaOptions): Promise<GatewayProcess> => {
    const folder = join(options.folder, options.name);
    mkdirSync(folder, { recursive: true });
    const shared = { DATABASE_URL: options.databaseUrl, VEXEL_SECRET: sharedSecret };
    const env = { ...shared, ...options.env };
    const { preload } = options;
    const gateway = await startProcess({
      folder,
      yaml: configFor(fakeUrl),
      env,
      ...(preload !== undefined && { preload }),
    });
    closing(gateway);
    return gateway;
  };
}

export interface Load {
  /** The request ids of complete responses. */
  readonly completed: string[];
  /** Statuses other than 200, and connection errors. */
  readonly failed: string[];
  stop(): Promise<void>;
}

/** Clients that send one embeddings request after the other, with short pauses, to one replica each. */
export function startLoad(urls: readonly string[], clients: number): Load {
  const completed: string[] = [];
  const failed: string[] = [];
  let isStopped = false;
  const run = async (client: number): Promise<void> => {
    const url = urls[client % urls.length];
    for (let at = 0; !isStopped; at++) {
      try {
        const response = await fetch(`${url}/v1/embeddings`, {
          method: "POST",
          headers: { ...bearer, "content-type": "application/json" },
          body: JSON.stringify({ model: embeddingModel, input: `text ${client} ${at}` }),
        });
        await response.text();
        if (response.status === 200) completed.push(response.headers.get("x-request-id") ?? "");
        else failed.push(String(response.status));
      } catch (error) {
        failed.push(String(error));
      }
      await Bun.sleep(10);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  return {
    completed,
    failed,
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
}

/** The request ids in the shared ledger. */
export async function sharedRows(server: PostgresServer, url: string): Promise<string[]> {
  const rows = await server.execute<{ id: string }>(
    databaseName(url),
    "SELECT request_id AS id FROM vexel.ledger",
  );
  return rows.map(({ id }) => id);
}

/** The cookies of a response, as a browser sends them. */
export const cookieOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
