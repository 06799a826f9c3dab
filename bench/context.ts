/** Shared by the scenarios of a run: the upstream, nginx, a folder, and fresh gateways. */

import { join } from "node:path";
import type { Checkout } from "./checkout.ts";
import { type RunningProxy, startNginx } from "./nginx.ts";
import type { ScenarioResult } from "./result.ts";
import { startVexel } from "./vexel.ts";

export interface BenchContext {
  readonly folder: string;
  readonly upstream: string;
  readonly seconds: number;
  readonly rounds: number;
  log(what: string): void;
  /** Undefined when nginx is not installed. */
  nginx(more?: string): Promise<RunningProxy | undefined>;
  vexel(env?: Readonly<Record<string, string>>): Promise<RunningProxy>;
  /** Other commits of the gateway, if the run compares with them. */
  readonly others: readonly { readonly name: string; start(): Promise<RunningProxy> }[];
}

/** A scenario: it starts the processes that it needs, and leaves none running. */
export type RunScenario = (context: BenchContext) => Promise<ScenarioResult>;

interface BenchOptions extends Pick<BenchContext, "folder" | "upstream" | "seconds" | "rounds"> {
  readonly command?: readonly string[] | undefined;
  readonly against: readonly Checkout[];
}

export function createContext({ command, against, ...shared }: BenchOptions): BenchContext {
  const { folder, upstream } = shared;
  let started = 0;
  const gateway = () => ({ folder: join(folder, `vexel-${started++}`), upstream });
  return {
    ...shared,
    log: (what) => console.error(`bench: ${what}`),
    nginx: (more) => startNginx(join(folder, `nginx-${started++}`), upstream, more),
    vexel: (settings) => startVexel({ ...gateway(), command, settings }),
    others: against.map((checkout) => ({
      name: checkout.name,
      start: () => startVexel({ ...gateway(), checkout: checkout.folder }),
    })),
  };
}
