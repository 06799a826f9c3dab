/** The gateway of an operator who has grown: 300 models, 2,000 API keys, 20 projects, 50,000 requests in 30 days. */
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { openKeyStore } from "../../server/storage/sqlite/gateway-database.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { type ConsoleGateway, startConsoleGateway, testKey } from "./console-gateway.ts";

export const large = { models: 300, keys: 2000, projects: 20, requests: 50_000 } as const;
const days = 30;
const dayMs = 86_400_000;

const names = <T>(count: number, nameOf: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => nameOf(at));

const teams = ["search", "shop", "studio", "mobile", "research", "support", "ads", "catalog"];
const projectOf = (at: number): string => `${teams[at % teams.length]}-${1 + Math.floor(at / 8)}`;
const families = ["text-embedding", "multilingual", "code-search", "product-photo", "illustration"];
const modelOf = (at: number): string => `${families[at % families.length]}-${at}`;
const keyOf = (at: number): string => `${projectOf(at % large.projects)}-app-${at}`;
const isImage = (at: number): boolean => at % families.length > 2;

/** Three upstreams, all at the fake, so that tiers and weights are seen. */
const yamlOf = (fakeUrl: string): string => {
  const upstreams = ["us-east", "eu-west", "backup"].map((id) => ({
    id,
    kind: "openai",
    baseUrl: fakeUrl,
    apiKey: "sk-fake",
  }));
  const models = names(large.models, (at) => ({
    id: modelOf(at),
    kind: isImage(at) ? "image" : "embedding",
    targets: upstreams.slice(0, 1 + (at % 3)).map(({ id }, tier) => ({
      upstream: id,
      model: isImage(at) ? "gpt-image-1" : "text-embedding-3-small",
      tier,
    })),
  }));
  const projects = names(large.projects, (at) => ({
    name: projectOf(at),
    budget: { month: 50 * (at + 1) },
  }));
  return JSON.stringify({
    upstreams,
    models: [
      ...models,
      // The model and the key of the requests that tests send.
      {
        id: "text-embedding-3-small",
        kind: "embedding",
        targets: [{ upstream: "us-east", model: "text-embedding-3-small" }],
      },
    ],
    projects,
    keys: [{ name: "test", key: testKey }],
  });
};

/** The same rows in every run: a small generator of random numbers with a fixed seed. */
function randomNumbers(): () => number {
  let state = 42;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const statuses: readonly [status: number, error: string | null][] = [
  ...names(45, (): [number, null] => [200, null]),
  [429, "rate_limited"],
  [502, "upstream_error"],
  [400, "invalid_value"],
];

function rowOf(at: number, random: () => number): LedgerRow {
  // Few models and keys have most of the requests.
  const model = Math.floor(large.models * random() ** 4);
  const key = Math.floor(large.keys * random() ** 3);
  const [status, error] = statuses[Math.floor(random() * statuses.length)] ?? [200, null];
  const tokens = 20 + Math.floor(random() * 800);
  const image = isImage(model);
  const isCached = !image && status === 200 && random() < 0.3;
  return ledgerRow(at, {
    requestId: `req_${Bun.randomUUIDv7("hex", at).replaceAll("-", "")}`,
    endpoint: image ? "generations" : "embeddings",
    keyId: `key_${key}`,
    project: projectOf(key % large.projects),
    model: modelOf(model),
    attempts: isCached ? 0 : 1,
    upstream: isCached ? null : (["us-east", "eu-west", "backup"][model % 3] ?? "us-east"),
    targetModel: isCached ? null : image ? "gpt-image-1" : "text-embedding-3-small",
    status,
    error,
    latencyMs: (image ? 9000 : 40) * (0.4 + random() ** 3 * 4),
    inputTokens: tokens,
    images: image && status === 200 ? 1 : null,
    cost: status === 200 ? (image ? 0.04 : isCached ? 0 : tokens * 2e-8) : null,
    inputs: image ? null : 1,
    cachedInputs: image ? null : Number(isCached),
    tags: random() < 0.5 ? `customer:${Math.floor(random() * 12)}` : null,
  });
}

/** The rest of a gateway of the same size is in its configuration. */
interface StoredSize {
  readonly requests: number;
  readonly keys: number;
}

async function fill(data: string, size: StoredSize): Promise<void> {
  const now = Date.now();
  const random = randomNumbers();
  const rows = names(size.requests, (at) =>
    // More requests by day than by night, and a few more each day.
    rowOf(now - Math.floor((1 - (at / size.requests) ** 0.8) * days * dayMs), random),
  );
  const ledger = new SqliteLedgerStore({ folder: data, maxBytes: 0 });
  for (let from = 0; from < rows.length; from += 10_000)
    ledger.write(rows.slice(from, from + 10_000));
  await ledger.close();
  const keys = openKeyStore(data, Date.now);
  for (let at = 0; at < size.keys; at++) {
    await keys.create({
      id: `key_${at}`,
      name: keyOf(at),
      hash: Bun.SHA256.hash(`key ${at}`, "hex"),
      hint: `sk-${at}`,
      models: ["*"],
      project: projectOf(at % large.projects),
      createdAt: now - (at % 400) * dayMs,
      ...(at % 5 === 0 && { limits: { requestsPerMinute: 600 } }),
    });
  }
  await keys.close();
}

export async function startLargeGateway(size: StoredSize = large): Promise<ConsoleGateway> {
  const folder = mkdtempSync(join(tmpdir(), "vexel-large-"));
  const data = join(folder, "data");
  mkdirSync(data);
  await fill(data, size);
  return startConsoleGateway({}, { folder, yaml: yamlOf });
}
