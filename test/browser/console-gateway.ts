/** Gateways with the console: one that all browser tests share, and fresh ones for tests of the first start. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ShownJob } from "../../contract/admin.ts";
import { createBatch } from "../admin/create-batch.ts";
import { type Fake, startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, testKey } from "../harness.ts";
import { until } from "../until.ts";

export const adminToken = "admin-token-of-the-browser-tests";
export const adminPassword = "correct horse battery";

export interface ConsoleGateway {
  readonly gateway: GatewayProcess;
  /** The upstream of the models in vexel.yaml. */
  readonly fake: Fake;
  readonly url: string;
  /** The one-time link of the start message. */
  readonly setupUrl: string;
  /** Calls the admin API with the admin token. Throws for an error response. */
  admin<Result>(method: string, path: string, body?: unknown): Promise<Result>;
}

/** The models of every test, and two projects, one of which may send one request per minute. */
const yamlFor = (fakeUrl: string): string => `${configFor(fakeUrl)}
  - { name: studio-app, key: sk-studio-0123456789abcdef, project: studio }
  - { name: search-app, key: sk-search-0123456789abcdef, project: search }
projects:
  - { name: search }
  - { name: studio, limits: { requestsPerMinute: 1 } }
`;

export { testKey };

export async function startConsoleGateway(
  env: Readonly<Record<string, string>> = {},
  { folder = mkdtempSync(join(tmpdir(), "vexel-browser-")), yaml = yamlFor } = {},
): Promise<ConsoleGateway> {
  const fake = startFake();
  const gateway = await startProcess({
    folder,
    yaml: yaml(fake.url),
    preload: join(import.meta.dir, "exit-with-parent.ts"),
    env: {
      VEXEL_CONSOLE: "on",
      VEXEL_ADMIN_TOKEN: adminToken,
      // Sent to the preloaded script.
      TEST_FOLDER: folder,
      ...env,
    },
  });
  const setupUrl = /Console {3}(\S+)/.exec(gateway.output())?.[1];
  if (setupUrl === undefined) throw new Error(`There is no one-time link in ${gateway.output()}`);
  const admin = async <Result>(method: string, path: string, body?: unknown): Promise<Result> => {
    const response = await fetch(`${gateway.url}/admin/api${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as Result;
  };
  return { gateway, fake, url: gateway.url, setupUrl, admin };
}

let starting: Promise<ConsoleGateway> | undefined;

/** Shared by all files of the test process. */
export function sharedGateway(): Promise<ConsoleGateway> {
  starting ??= startConsoleGateway();
  return starting;
}

/** Sends requests as an application does, one of which fails. Resolves with the id of one that is in the ledger. */
export async function sendRequests({ gateway, admin }: ConsoleGateway): Promise<string> {
  const bodies = [
    { model: "no-such-model", input: "a red boat" },
    { model: "text-embedding-3-small", input: ["a red boat", "a green hill"] },
  ];
  let id = "";
  for (const body of bodies)
    id = (await gateway.post("/v1/embeddings", body)).headers.get("x-request-id") ?? "";
  await until(() =>
    admin("GET", `/requests/${id}`).then(
      () => true,
      () => false,
    ),
  );
  return id;
}

/** Creates a batch of two lines as an application does, and waits for its end. Resolves with its id. */
export async function sendBatch(
  { url, admin }: Pick<ConsoleGateway, "url" | "admin">,
  key = testKey,
  model = "text-embedding-3-small",
): Promise<string> {
  const id = await createBatch(`${url}/v1`, key, ["a red boat", "a green hill"], model);
  await until(async () => (await admin<ShownJob>("GET", `/jobs/${id}`)).ended_at !== null);
  return id;
}
