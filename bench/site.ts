/** Where a part of the bench works: the upstream, nginx, a folder, and gateways as fresh as it wants them. */

import { join } from "node:path";
import type { Checkout } from "./earlier-state.ts";
import type { Finding } from "./finding.ts";
import { type Contender, startNginx } from "./nginx.ts";
import { startVexel } from "./vexel.ts";

export interface Site {
  readonly folder: string;
  readonly upstream: string;
  readonly seconds: number;
  readonly rounds: number;
  say(what: string): void;
  /** Undefined when nginx is not installed. */
  nginx(more?: string): Promise<Contender | undefined>;
  vexel(env?: Readonly<Record<string, string>>): Promise<Contender>;
  /** Another commit of the gateway, if the run compares with one. */
  readonly other?: { readonly name: string; start(): Promise<Contender> };
}

/** A part of the bench: it starts what it needs, and leaves nothing running. */
export type Part = (site: Site) => Promise<Finding>;

export interface SiteOptions extends Pick<Site, "folder" | "upstream" | "seconds" | "rounds"> {
  readonly command?: readonly string[] | undefined;
  readonly against?: Checkout | undefined;
}

export function createSite({ command, against, ...given }: SiteOptions): Site {
  const { folder, upstream } = given;
  let started = 0;
  const gateway = () => ({ folder: join(folder, `vexel-${started++}`), upstream });
  return {
    ...given,
    say: (what) => console.error(`bench: ${what}`),
    nginx: (more) => startNginx(join(folder, `nginx-${started++}`), upstream, more),
    vexel: (settings) => startVexel({ ...gateway(), command, settings }),
    ...(against && {
      other: {
        name: against.name,
        start: () => startVexel({ ...gateway(), checkout: against.folder }),
      },
    }),
  };
}
