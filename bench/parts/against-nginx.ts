/** The same load on nginx and on the gateway, in turns, and what each pays for a request. */

import { atMost, type Finding } from "../finding.ts";
import { tryOnce } from "../load.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import type { Contender } from "../nginx.ts";
import type { Scenario } from "../scenarios.ts";
import type { Part, Site } from "../site.ts";
import { figureTable } from "../table.ts";

export interface AgainstNginx {
  readonly scenario: Scenario;
  /** Most CPU per request, as a multiple of nginx's. */
  readonly mostCpu: number;
  readonly mostMegabytes: number;
}

const warmSeconds = 2;

export const againstNginx =
  ({ scenario, mostCpu, mostMegabytes }: AgainstNginx): Part =>
  async (site) => {
    const nginx = await site.nginx();
    const vexel = await site.vexel();
    const proxies = [...(nginx ? [nginx] : []), vexel];
    const [first, ...others] = await Promise.all(proxies.map(({ url }) => tryOnce(url, scenario)));
    if (others.some((other) => JSON.stringify(JSON.parse(other)) !== first))
      site.say("the answers of nginx and the gateway differ");
    const figures = await inTurns(site, scenario, proxies);
    await Promise.all(proxies.map((proxy) => proxy.process.stop()));
    return judge(
      scenario,
      mostCpu,
      mostMegabytes,
      figures.get(vexel)!,
      nginx && figures.get(nginx),
    );
  };

async function inTurns(
  { say, seconds, rounds, folder }: Site,
  scenario: Scenario,
  proxies: readonly Contender[],
): Promise<Map<Contender, Figures>> {
  const round = (proxy: Contender, time: number) => underLoad(proxy, scenario, time, folder);
  for (const proxy of proxies)
    await warmUp(async () => (await round(proxy, warmSeconds)).cpuUsPerRequest);
  const lists = new Map<Contender, Figures[]>(proxies.map((proxy) => [proxy, []]));
  for (let at = 1; at <= rounds; at++) {
    say(`${scenario.name}: round ${at} of ${rounds}`);
    for (const [proxy, list] of lists) list.push(await round(proxy, seconds));
  }
  return new Map([...lists].map(([proxy, list]) => [proxy, medians(list)]));
}

function judge(
  { name, connections }: Scenario,
  mostCpu: number,
  mostMegabytes: number,
  vexel: Figures,
  nginx: Figures | undefined,
): Finding {
  const columns = { ...(nginx && { nginx }), vexel };
  const ratio = nginx && vexel.cpuUsPerRequest / nginx.cpuUsPerRequest;
  return {
    text: `${name}, ${connections} connections\n${figureTable(columns)}`,
    figures: { name, connections, ...columns },
    verdicts: [
      ...(ratio === undefined
        ? []
        : [atMost(`CPU per request, ${name}`, ratio, mostCpu, "x nginx")]),
      atMost(`memory under load, ${name}`, vexel.peakMegabytes, mostMegabytes, "MB"),
    ],
  };
}
