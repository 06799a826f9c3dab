/**
 * Shared by the tests of a ledger that cannot be written: a gateway with a small ledger, and ways to fill and empty it.
 */
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess } from "../harness.ts";
import { embeddingModel, startGatewayWithFake } from "../http/gateway-fixture.ts";
import { vexelProcess } from "../process/process-fixture.ts";

/** Called after each test, the newest first. */
export const cleanUps: (() => unknown)[] = [];
export async function cleanUp(): Promise<void> {
  for (const each of cleanUps.splice(0).reverse()) await each();
}

/** Holds about forty rows. */
const ledgerBytes = 96 * 1024;
/** Space for two of the largest write groups: the pending rows must fit once there is space. */
export const sufficientBytes = 160 * 1024;

/** A gateway whose ledger reaches its maximum size after a few rows. */
export function startSmall(policy: "refuse" | "serve", bytes = ledgerBytes) {
  const setup = startGatewayWithFake({
    settings: { VEXEL_LEDGER_MAX_BYTES: String(bytes), VEXEL_ON_LEDGER_ERROR: policy },
  });
  cleanUps.push(() => setup.close());
  const { gateway } = setup;
  return {
    ...setup,
    embed: () =>
      gateway.post("/v1/embeddings", { model: embeddingModel, input: "a", dimensions: 2 }),
    ready: () => fetch(`${gateway.url}/readyz`),
    freeSpace: () => emptyLedger(gateway.folder),
  };
}

/** A gateway process with a small ledger in the folder, killed after the test. */
export async function startSmallProcess(
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const fake = startFake();
  cleanUps.push(() => fake.close());
  const gateway = await startProcess({
    folder,
    yaml: configFor(fake.url),
    env: { VEXEL_LEDGER_MAX_BYTES: String(ledgerBytes), ...env },
  });
  cleanUps.push(() => gateway.close());
  return gateway;
}

/** Sends requests until one is refused; returns it, and the IDs of the successful ones. */
export async function fill(embed: () => Promise<Response>) {
  const successful: string[] = [];
  for (let i = 0; i < 2000; i++) {
    const response = await embed();
    if (response.status !== 200) return { refused: response, successful };
    successful.push(response.headers.get("x-request-id")!);
    await response.text();
  }
  throw new Error("the ledger was never full");
}

export const idsOf = (rows: readonly LedgerRow[]): string[] =>
  rows.map(({ requestId }) => requestId);

/** Inserts rows through a second connection until no more fit. */
export async function fillQuietly(folder: string): Promise<void> {
  const other = new Database(join(folder, "ledger.db"));
  other.run("PRAGMA busy_timeout = 5000");
  other.run(`PRAGMA max_page_count = ${ledgerBytes / 4096}`);
  const insert = other.prepare(
    "INSERT INTO ledger VALUES (?, 0, 'x', 'x', '', '', '', 0, 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', 0, 0, '', '', '', '', '', '')",
  );
  expect(() => {
    for (let i = 0; ; i++) insert.run(`filler-${i}`);
  }).toThrow("full");
  other.close();
}

/** Deletes all rows through a second connection. */
export function emptyLedger(folder: string): void {
  const other = new Database(join(folder, "ledger.db"));
  other.run("PRAGMA busy_timeout = 5000");
  other.run("DELETE FROM ledger");
  other.close();
}

/** The output and exit code of a start that must fail. */
export const failedStart = (data: string, folder: string) =>
  vexelProcess(["serve"], { cwd: folder, env: { PORT: "0", VEXEL_DATA: data } });
