/** The same load on nginx and on the gateway, in turns, and what each pays for a request. */

import { atMost, type Verdict } from "../finding.ts";
import { tryOnce } from "../load.ts";
import { type Figures, median, medians, underLoad, warmUp } from "../measure.ts";
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
): Promise<Map<Contender, readonly Figures[]>> {
  const lists = new Map<Contender, Figures[]>(proxies.map((proxy) => [proxy, []]));
  for (let at = 1; at <= site.rounds; at++) {
    site.say(`${scenario.name}: round ${at} of ${site.rounds}`);
    for (const [proxy, list] of lists) {
      // It was idle during the others' turn, and a server in service is not: this much is the same for all, and not counted.
      await underLoad(site, proxy, scenario, runInSeconds);
      list.push(await underLoad(site, proxy, scenario, site.seconds));
    }
  }
  return lists;
}

/** What happens beside us on the machine meets both of a round: so they are compared round by round. */
function timesOf(rounds: readonly Figures[], others: readonly Figures[]) {
  const each = rounds.map(
    ({ cpuUsPerRequest }, at) => cpuUsPerRequest / others[at]!.cpuUsPerRequest,
  );
  return { middle: median(each), least: Math.min(...each), most: Math.max(...each) };
}

function tell(
  { scenario, mostCpu, fromMemory = false }: AgainstNginx,
  vexelRounds: readonly Figures[],
  nginxRounds: readonly Figures[] | undefined,
  tunedRounds: readonly Figures[] | undefined,
) {
  const { name, connections } = scenario;
  const vexel = medians(vexelRounds);
  const nginx = nginxRounds && medians(nginxRounds);
  const times = nginxRounds && timesOf(vexelRounds, nginxRounds);
  const tuned = tunedRounds && timesOf(vexelRounds, tunedRounds);
  if ((vexel.upstreamCalls === 0) !== fromMemory)
    throw new Error(`${name}: ${vexel.upstreamCalls} upstream calls for each request`);
  const columns = { ...(nginx && { nginx }), vexel };
  const verdicts: Verdict[] = [
    ...(times ? [atMost(`CPU per request, ${name}`, times.middle, mostCpu, "x nginx")] : []),
    atMost(`memory under load, ${name}`, vexel.peakMegabytes, targets.loadMegabytes, "MB"),
  ];
  const lines = [`${name}, ${connections} connections`, figureTable(columns)];
  if (times)
    lines.push(
      `CPU, round by round: ${times.middle.toFixed(2)} x nginx in the middle, ${times.least.toFixed(2)} to ${times.most.toFixed(2)}`,
    );
  if (tuned)
    lines.push(`against nginx with larger buffers: ${tuned.middle.toFixed(2)} x (not judged)`);
  const figures = { name, connections, ...columns, times, tuned };
  return { text: lines.join("\n"), figures, verdicts };
}
