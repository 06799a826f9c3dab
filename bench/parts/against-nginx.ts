/** The same load on nginx and on the gateway, in turns, and what each pays for a request. */

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
  /** The gateway is to answer without asking anybody; otherwise it is to ask. */
  readonly fromMemory?: boolean;
  /** Told beside the others, and not judged by: nginx as one would set it up for such answers. */
  readonly alsoLargeBuffers?: boolean;
}

const warmSeconds = 2;
const runInSeconds = 1;

export const againstNginx =
  (options: AgainstNginx): Part =>
  async (site) => {
    const { scenario } = options;
    const nginx = await site.nginx();
    const tuned = options.alsoLargeBuffers ? await site.nginx(largeBuffers) : undefined;
    const vexel = await site.vexel();
    await compareAnswers(site, scenario, [...(nginx ? [nginx] : []), vexel, vexel]);

    site.say(`${scenario.name}: warming up`);
    const proxies = [nginx, tuned, vexel].filter((proxy) => proxy !== undefined);
    // nginx has no compiler that would have to settle.
    for (const proxy of [nginx, tuned]) if (proxy) await underLoad(site, proxy, scenario, 1);
    await warmUp(async () => (await underLoad(site, vexel, scenario, warmSeconds)).cpuUsPerRequest);
    const figures = await inTurns(site, scenario, proxies);
    await Promise.all(proxies.map((proxy) => proxy.process.stop()));

    const of = (proxy: Contender | undefined) => proxy && figures.get(proxy);
    return tell(options, of(vexel)!, of(nginx), of(tuned));
  };

async function compareAnswers(
  site: Site,
  scenario: Scenario,
  proxies: readonly Contender[],
): Promise<void> {
  const answers: unknown[] = [];
  for (const { url } of proxies) answers.push(JSON.parse(await tryOnce(url, scenario)));
  // Whichever way round their members stand.
  if (!answers.every((answer) => Bun.deepEquals(answer, answers[0])))
    site.say("the answers of nginx and the gateway differ");
}

async function inTurns(
  site: Site,
  scenario: Scenario,
  proxies: readonly Contender[],
): Promise<Map<Contender, Figures>> {
  const lists = new Map<Contender, Figures[]>(proxies.map((proxy) => [proxy, []]));
  for (let at = 1; at <= site.rounds; at++) {
    site.say(`${scenario.name}: round ${at} of ${site.rounds}`);
    for (const [proxy, list] of lists) {
      // It was idle during the others' turn, and a server in service is not: this much is the same for all, and not counted.
      await underLoad(site, proxy, scenario, runInSeconds);
      list.push(await underLoad(site, proxy, scenario, site.seconds));
    }
  }
  return new Map([...lists].map(([proxy, list]) => [proxy, medians(list)]));
}

function tell(
  { scenario, mostCpu, fromMemory = false }: AgainstNginx,
  vexel: Figures,
  nginx: Figures | undefined,
  tuned: Figures | undefined,
) {
  const { name, connections } = scenario;
  if ((vexel.upstreamCalls === 0) !== fromMemory)
    throw new Error(`${name}: ${vexel.upstreamCalls} upstream calls for each request`);
  const times = (other: Figures) => vexel.cpuUsPerRequest / other.cpuUsPerRequest;
  const columns = { ...(nginx && { nginx }), vexel };
  const verdicts: Verdict[] = [
    ...(nginx ? [atMost(`CPU per request, ${name}`, times(nginx), mostCpu, "x nginx")] : []),
    atMost(`memory under load, ${name}`, vexel.peakMegabytes, targets.loadMegabytes, "MB"),
  ];
  const lines = [`${name}, ${connections} connections`, figureTable(columns)];
  if (tuned)
    lines.push(
      `nginx with larger buffers: ${tuned.cpuUsPerRequest.toFixed(1)} us/request, vexel ${times(tuned).toFixed(2)} x that (not judged)`,
    );
  return { text: lines.join("\n"), figures: { name, connections, ...columns, tuned }, verdicts };
}
