/** The same load on nginx, on the gateway, and with `--against` on the gateway of another commit. */

import { cpuTimes, inTurns, timesLine } from "../compare.ts";
import { atMost, type Verdict } from "../finding.ts";
import { tryOnce } from "../load.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import { type Contender, largeBuffers } from "../nginx.ts";
import { type Scenario, targets } from "../scenarios.ts";
import type { Part, Site } from "../site.ts";
import { figureTable } from "../table.ts";

export interface AgainstNginx {
  readonly scenario: Scenario;
  /** Most CPU per request, as a multiple of nginx's. */
  readonly mostCpu: number;
  /** The gateway must answer from its cache; otherwise it must call the upstream. */
  readonly fromCache?: boolean;
  /** Reported and not judged: nginx as one would configure it for such responses. */
  readonly alsoLargeBuffers?: boolean;
}

const warmSeconds = 2;

export const againstNginx =
  (options: AgainstNginx): Part =>
  async (site) => {
    const { scenario } = options;
    const nginx = await site.nginx();
    const tuned = options.alsoLargeBuffers ? await site.nginx(largeBuffers) : undefined;
    const vexel = await site.vexel();
    const other = await site.other?.start();
    const gateways = [vexel, other].filter((proxy) => proxy !== undefined);
    const proxies = [nginx, tuned, ...gateways].filter((proxy) => proxy !== undefined);
    // The gateway twice: its second response may come from the cache.
    await compareResponses(site, scenario, [...proxies, vexel]);

    site.say(`${scenario.name}: warming up`);
    // nginx has no JIT compiler.
    for (const proxy of [nginx, tuned]) if (proxy) await underLoad(site, proxy, scenario, 1);
    for (const proxy of gateways)
      await warmUp(
        async () => (await underLoad(site, proxy, scenario, warmSeconds)).cpuUsPerRequest,
      );
    const figures = await inTurns(site, scenario, proxies);
    await Promise.all(proxies.map((proxy) => proxy.process.stop()));

    const of = (proxy: Contender | undefined) => proxy && figures.get(proxy);
    return report(options, {
      vexel: of(vexel)!,
      nginx: of(nginx),
      tuned: of(tuned),
      other: site.other && { name: site.other.name, rounds: of(other)! },
    });
  };

async function compareResponses(
  site: Site,
  scenario: Scenario,
  proxies: readonly Contender[],
): Promise<void> {
  const responses: unknown[] = [];
  for (const { url } of proxies) responses.push(JSON.parse(await tryOnce(url, scenario)));
  // In any order of their members.
  if (!responses.every((response) => Bun.deepEquals(response, responses[0])))
    site.say("the responses of nginx and the gateway differ");
}

interface Rounds {
  readonly vexel: readonly Figures[];
  readonly nginx: readonly Figures[] | undefined;
  readonly tuned: readonly Figures[] | undefined;
  readonly other: { readonly name: string; readonly rounds: readonly Figures[] } | undefined;
}

function report({ scenario, mostCpu, fromCache = false }: AgainstNginx, rounds: Rounds) {
  const { name, connections } = scenario;
  const { other } = rounds;
  const vexel = medians(rounds.vexel);
  if ((vexel.upstreamCalls === 0) !== fromCache)
    throw new Error(`${name}: ${vexel.upstreamCalls} upstream calls for each request`);
  const nginx = rounds.nginx && medians(rounds.nginx);
  const columns = {
    ...(nginx && { nginx }),
    vexel,
    ...(other && { [other.name]: medians(other.rounds) }),
  };
  const verdicts: Verdict[] = [];
  const lines = [`${name}, ${connections} connections`, figureTable(columns)];
  const times = rounds.nginx && cpuTimes(rounds.vexel, rounds.nginx);
  if (times) {
    verdicts.push(atMost(`CPU per request, ${name}`, times.median, mostCpu, "x nginx"));
    lines.push(timesLine(times, "nginx"));
  }
  const tuned = rounds.tuned && cpuTimes(rounds.vexel, rounds.tuned);
  if (tuned)
    lines.push(`against nginx with larger buffers: ${tuned.median.toFixed(2)} x (not judged)`);
  const timesOther = other && cpuTimes(rounds.vexel, other.rounds);
  if (timesOther) {
    const unit = `x ${other.name}`;
    verdicts.push(
      atMost(`CPU per request, ${name}`, timesOther.median, targets.timesOtherCommit, unit),
    );
    lines.push(timesLine(timesOther, other.name));
  }
  verdicts.push(
    atMost(`memory under load, ${name}`, vexel.peakMegabytes, targets.loadMegabytes, "MB"),
  );
  const figures = { name, connections, ...columns, times, tuned, timesOther };
  return { text: lines.join("\n"), figures, verdicts };
}
