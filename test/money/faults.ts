/** The faults of a program. */
import type { BatchVendor } from "./batch-vendor.ts";
import type { Gateways } from "./gateways.ts";
import type { Random } from "./random.ts";

export const faultNames = [
  "kill -9",
  "kill -9 at a delivery",
  "PostgreSQL stops",
  "PostgreSQL hangs",
  "Redis stops",
  "Redis hangs",
  "Redis is flushed",
  "Redis fails over",
  "the object store stops",
  "skewed clock",
  "few connections",
  "a key is revoked",
] as const;
export type FaultName = (typeof faultNames)[number];

interface FaultTools {
  readonly vendor: BatchVendor;
  /** At every replica. */
  readonly revokeKey: () => void;
}

export interface FaultEffect {
  /** Budgets may be exceeded by what their owners spend in about two seconds. */
  readonly weakensBudgets: boolean;
}

export async function runFault(
  name: FaultName,
  gateways: Gateways,
  { vendor, revokeKey }: FaultTools,
  random: Random,
): Promise<FaultEffect> {
  const { postgres, redis, s3 } = gateways;
  const ms = random.whole(1500, 3500);
  switch (name) {
    case "kill -9": {
      const at = random.whole(0, gateways.count - 1);
      await gateways.kill(at);
      await Bun.sleep(gateways.count > 1 ? ms : 100);
      await gateways.startOne(at);
      return { weakensBudgets: false };
    }
    case "kill -9 at a delivery": {
      await Promise.race([vendor.downloaded(), Bun.sleep(15_000)]);
      await Bun.sleep(random.whole(10, 150));
      await gateways.kill(0);
      await gateways.startOne(0);
      return { weakensBudgets: false };
    }
    case "PostgreSQL stops":
      await postgres?.stop();
      await Bun.sleep(ms);
      await postgres?.start();
      return { weakensBudgets: false };
    case "PostgreSQL hangs":
      process.kill(postgres?.pid ?? 0, "SIGSTOP");
      await Bun.sleep(ms);
      process.kill(postgres?.pid ?? 0, "SIGCONT");
      return { weakensBudgets: false };
    case "Redis stops":
      await redis?.stop();
      await Bun.sleep(ms);
      await redis?.start();
      return { weakensBudgets: true };
    case "Redis hangs":
      redis?.pause();
      await Bun.sleep(ms);
      redis?.resume();
      return { weakensBudgets: true };
    case "Redis is flushed":
      await redis?.command("FLUSHALL");
      return { weakensBudgets: true };
    case "Redis fails over":
      await redis?.stop();
      await gateways.haveLostRedis();
      await gateways.ready();
      return { weakensBudgets: true };
    case "the object store stops":
      s3?.stop();
      await Bun.sleep(ms);
      s3?.start();
      return { weakensBudgets: false };
    case "a key is revoked":
      revokeKey();
      return { weakensBudgets: false };
    // From the start.
    case "few connections":
    case "skewed clock":
      return { weakensBudgets: false };
  }
}
