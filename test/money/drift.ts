/**
 * The drift of three replicas after a fault of Redis: what each shows as spent, less what the rows of the ledger cost.
 */
import { temporaryFolder } from "../harness.ts";
import { chargeOf, readBudgets, readRows } from "./account.ts";
import { configurationOf, pricesOf } from "./configuration.ts";
import { Gateways } from "./gateways.ts";
import { type Key, type Nano, nanoOf, type Project } from "./program.ts";
import { startVendor } from "./vendor.ts";
import { sum } from "./violation.ts";

export const driftFaults = ["kill -9 of the primary", "a freeze", "FLUSHALL"] as const;
export type DriftFault = (typeof driftFaults)[number];

export interface Drift {
  readonly requests: number;
  readonly rows: number;
  readonly charged: Nano;
  /** By replica, in the order of time: milliseconds since the last request, and the difference. */
  readonly samples: readonly { readonly ms: number; readonly drifts: readonly Nano[] }[];
}

const clients = 24;
const key: Key = {
  name: "a",
  secret: "sk-money-drift-0123456789",
  project: "p",
  budget: { total: nanoOf(100) },
};
const project: Project = { name: "p", budget: { month: nanoOf(100) } };

/** Requests for five seconds, with the fault in the middle, and then the drift for `watchMs`. */
export async function measureDrift(
  fault: DriftFault,
  watchMs: number,
  checkout?: string,
): Promise<Drift> {
  const vendor = startVendor("a", pricesOf("a"), new Map(), new Map());
  using folder = temporaryFolder();
  const yaml = configurationOf(
    { keys: [key], projects: [project] },
    { a: vendor.url, b: vendor.url, batches: vendor.url },
  );
  const topology = fault === "FLUSHALL" ? "replicas" : "sentinel";
  const gateways = await Gateways.start({
    ...{
      topology,
      folder: folder.path,
      yaml,
      clocksMs: [0, 0, 0],
      checkout,
      hasOwnDatabase: false,
      hasFewConnections: false,
    },
  });
  try {
    let isStopped = false;
    let requests = 0;
    const run = async (client: number): Promise<void> => {
      while (!isStopped) {
        const id = requests++;
        const sent = fetch(`${gateways.urlOf(client)}/v1/embeddings`, {
          method: "POST",
          headers: { authorization: `Bearer ${key.secret}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "single", input: `${id}.0 a text of some length` }),
        });
        // A response that is lost is in the ledger all the same.
        await sent.then((response) => response.text()).catch(() => undefined);
        await Bun.sleep(50);
      }
    };
    const running = Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
    await Bun.sleep(2500);
    const { redis } = gateways;
    if (fault === "FLUSHALL") await redis?.command("FLUSHALL");
    else {
      if (fault === "a freeze") redis?.pause();
      else await redis?.stop();
      await gateways.haveLostRedis();
      await gateways.ready();
      if (fault === "a freeze") redis?.resume();
    }
    await Bun.sleep(2500);
    isStopped = true;
    await running;
    const endedAt = performance.now();
    const seen: { readonly ms: number; readonly spent: Nano[] }[] = [];
    while (performance.now() < endedAt + watchMs) {
      const ms = Math.round(performance.now() - endedAt);
      const views = await Promise.all(gateways.urls.map((_, at) => readBudgets(gateways, at, [])));
      seen.push({ ms, spent: views.flatMap((view) => view.map(({ spent }) => spent)) });
      await Bun.sleep(100);
    }
    const rows = await readRows(gateways);
    const charged = sum(rows.map(chargeOf));
    const samples = seen.map(({ ms, spent }) => ({
      ms,
      drifts: spent.map((one) => one - charged),
    }));
    return { requests, rows: rows.length, charged, samples };
  } finally {
    await gateways.close();
    vendor.close();
  }
}
