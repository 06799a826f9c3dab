/** The same load on nginx, on the gateway, and with `--against` on the gateways of other commits. */

import { alternate, cpuRatios, ratioLine } from "../compare.ts";
import type { BenchContext, RunScenario } from "../context.ts";
import { sendOnce } from "../load.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import { largeBuffers, type RunningProxy } from "../nginx.ts";
import { atMost, type Verdict } from "../result.ts";
import { type Scenario, targets } from "../scenarios.ts";
import { figureTable } from "../table.ts";

interface AgainstNginx {
  readonly scenario: Scenario;
  /** Most CPU per request, as a multiple of nginx's. */
  readonly mostCpu: number;
  /** The gateway must serve from its cache; otherwise it must send upstream requests. */
  readonly fromCache?: boolean;
  /** The gateway's response has another encoding than the upstream's. */
  readonly converts?: boolean;
  /** Also compares with nginx as configured for large responses, without a target. */
  readonly alsoLargeBuffers?: boolean;
}

const warmSeconds = 2;

export const againstNginx =
  (options: AgainstNginx): RunScenario =>
  async (context) => {
    const { scenario } = options;
    const nginx = await context.nginx();
    const tuned = options.alsoLargeBuffers ? await context.nginx(largeBuffers) : undefined;
    const vexel = await context.vexel();
    const others = await Promise.all(context.others.map((other) => other.start()));
    const gateways = [vexel, ...others];
    const proxies = [nginx, tuned, ...gateways].filter((proxy) => proxy !== undefined);
    // The gateway twice: its second response may come from the cache.
    if (!options.converts) await compareResponses(context, scenario, [...proxies, vexel]);

    context.log(`${scenario.name}: warming up`);
    // nginx has no JIT compiler.
    for (const proxy of [nginx, tuned]) if (proxy) await underLoad(context, proxy, scenario, 1);
    for (const proxy of gateways)
      await warmUp(
        async () => (await underLoad(context, proxy, scenario, warmSeconds)).cpuUsPerRequest,
      );
    const figures = await alternate(context, scenario, proxies);
    await Promise.all(proxies.map((proxy) => proxy.process.stop()));

    const of = (proxy: RunningProxy | undefined) => proxy && figures.get(proxy);
    return report(options, {
      vexel: of(vexel)!,
      nginx: of(nginx),
      tuned: of(tuned),
      others: context.others.map(({ name }, at) => ({ name, rounds: of(others[at])! })),
    });
  };

async function compareResponses(
  context: BenchContext,
  scenario: Scenario,
  proxies: readonly RunningProxy[],
): Promise<void> {
  const responses: unknown[] = [];
  for (const { url } of proxies) responses.push(JSON.parse(await sendOnce(url, scenario)));
  // The order of members may differ.
  if (!responses.every((response) => Bun.deepEquals(response, responses[0])))
    context.log("the responses of nginx and the gateway differ");
}

interface Rounds {
  readonly vexel: readonly Figures[];
  readonly nginx: readonly Figures[] | undefined;
  readonly tuned: readonly Figures[] | undefined;
  readonly others: readonly { readonly name: string; readonly rounds: readonly Figures[] }[];
}

function report({ scenario, mostCpu, fromCache = false }: AgainstNginx, rounds: Rounds) {
  const { name, connections } = scenario;
  const vexel = medians(rounds.vexel);
  if ((vexel.upstreamRequests === 0) !== fromCache)
    throw new Error(`${name}: ${vexel.upstreamRequests} upstream requests per request`);
  const nginx = rounds.nginx && medians(rounds.nginx);
  const columns = {
    ...(nginx && { nginx }),
    vexel,
    ...Object.fromEntries(rounds.others.map((other) => [other.name, medians(other.rounds)])),
  };
  const verdicts: Verdict[] = [];
  const lines = [`${name}, ${connections} connections`, figureTable(columns)];
  const ratios = rounds.nginx && cpuRatios(rounds.vexel, rounds.nginx);
  if (ratios) {
    verdicts.push(atMost(`CPU per request, ${name}`, ratios.median, mostCpu, "x nginx"));
    lines.push(ratioLine(ratios, "nginx"));
  }
  const tuned = rounds.tuned && cpuRatios(rounds.vexel, rounds.tuned);
  if (tuned)
    lines.push(`against nginx with larger buffers: ${tuned.median.toFixed(2)} x (no target)`);
  const otherRatios = rounds.others.map((other) => {
    const ratio = cpuRatios(rounds.vexel, other.rounds);
    lines.push(ratioLine(ratio, other.name));
    verdicts.push(
      atMost(`CPU per request, ${name}`, ratio.median, targets.otherCommitRatio, `x ${other.name}`),
    );
    return ratio;
  });
  verdicts.push(
    atMost(`memory under load, ${name}`, vexel.peakMegabytes, targets.loadMegabytes, "MB"),
  );
  const figures = { name, connections, ...columns, ratios, tuned, otherRatios };
  return { text: lines.join("\n"), figures, verdicts };
}
