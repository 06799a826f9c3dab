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

const headersFor = ({ key: asked = key }: Scenario) => ({
  authorization: `Bearer ${asked}`,
  "content-type": "application/json",
});

/** Where a body wants another number in each request. */
export const mark = "{n}";
/** So that every number has as many digits, and the length of a request never changes. */
const digits = { series: 4, turn: 10 };

let begun = 0;
/** No two loads of a run ask for the same, unless their body has no mark. */
const nextSeries = (): string => String(begun++).padStart(digits.series, "0");

/** The whole request as text, cut at the marks: putting a number between the pieces is all that is left to do. */
function pieces(url: string, scenario: Scenario): string[] {
  const { path, body } = scenario;
  const marks = body.split(mark).length - 1;
  const length =
    Buffer.byteLength(body) + marks * (digits.series + digits.turn - Buffer.byteLength(mark));
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    ...Object.entries(headersFor(scenario)).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${length}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`.split(mark);
}

// JSON's escapes are Lua's as well, as long as there is nothing but ASCII.
const script = (url: string, scenario: Scenario): string => `
local pieces = { ${pieces(url, scenario)
  .map((piece) => JSON.stringify(piece))
  .join(", ")} }
local turn = 0
function request()
  turn = turn + 1
  return table.concat(pieces, string.format("${nextSeries()}%0${digits.turn}d", turn))
end
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
    const bodies = { pieces: body.split(mark), series: nextSeries(), digits: digits.turn };
    const headers = headersFor(scenario);
    const order = JSON.stringify({ url: url + path, ...bodies, headers, connections, seconds });
    return start([process.execPath, join(import.meta.dir, "loader.ts"), order], cores.rest, {
      listen: true,
    });
  }
  const file = join(folder, "post.lua");
  writeFileSync(file, script(url, scenario));
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
export async function tryOnce(url: string, scenario: Scenario): Promise<string> {
  const { path, body } = scenario;
  const answer = await fetch(url + path, {
    method: "POST",
    headers: headersFor(scenario),
    body: body.replaceAll(mark, nextSeries()),
  });
  const text = await answer.text();
  if (answer.status !== 200)
    throw new Error(`${url}${path} answered ${answer.status}: ${text.slice(0, 500)}`);
  return text;
}
