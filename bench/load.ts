/** Puts load on a proxy with wrk, or with a loader of our own where there is no wrk. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cores, type Running, start } from "./processes.ts";
import { key, type Scenario } from "./scenarios.ts";

export interface Load {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers other than 2xx, and broken connections. */
  readonly failures: number;
}

const wrk = Bun.which("wrk");
export const generator = wrk ? "wrk" : "bun loader (wrk is not installed)";

const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };

const script = ({ body }: Scenario): string => `
wrk.method = "POST"
wrk.body = [==[${body}]==]
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers["${name}"] = "${value}"`)
  .join("\n")}
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"failures":%d}\\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;

function launch(url: string, scenario: Scenario, seconds: number, folder: string): Running {
  const { path, body, connections } = scenario;
  if (!wrk) {
    const order = JSON.stringify({ url: url + path, body, headers, connections, seconds });
    return start([process.execPath, join(import.meta.dir, "loader.ts"), order], cores.rest, {
      listen: true,
    });
  }
  const file = join(folder, "post.lua");
  writeFileSync(file, script(scenario));
  const size = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "5s"];
  return start([wrk, ...size, "-s", file, url + path], cores.rest, { listen: true });
}

export async function load(
  url: string,
  scenario: Scenario,
  seconds: number,
  folder: string,
): Promise<Load> {
  const child = launch(url, scenario, seconds, folder);
  const said = await new Response(child.output).text();
  await child.exited;
  const result = /^RESULT (.+)$/m.exec(said)?.[1];
  if (!result) throw new Error(`the load generator said nothing: ${child.complaints()} ${said}`);
  return JSON.parse(result) as Load;
}

/** One call, to be sure that what is measured is the right answer. */
export async function tryOnce(url: string, { path, body }: Scenario): Promise<string> {
  const answer = await fetch(url + path, { method: "POST", headers, body });
  const text = await answer.text();
  if (answer.status !== 200)
    throw new Error(`${url}${path} answered ${answer.status}: ${text.slice(0, 500)}`);
  return text;
}
