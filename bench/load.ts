/** Closed-loop load on a proxy with wrk, or with our own load generator if wrk is not installed. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cores, type Running, start } from "./processes.ts";
import { key, type Scenario } from "./scenarios.ts";

export interface Load {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Responses other than 2xx, and broken connections. */
  readonly failures: number;
}

const wrk = Bun.which("wrk");
export const generator = wrk ? "wrk" : "bun loader (wrk is not installed)";

const headersFor = ({ key: apiKey = key, form }: Scenario) => ({
  authorization: `Bearer ${apiKey}`,
  "content-type": form?.().contentType ?? "application/json",
});

/** Placeholder in a body for a number that differs in each request. */
export const placeholder = "{n}";
/** Fixed numbers of digits, so that the length of a request never changes. */
const digits = { series: 4, turn: 10 };

let seriesCount = 0;
/** Requests of different loads of a run differ, unless their body has no placeholder or is repeated. */
const nextSeries = ({ cycle }: Scenario): string =>
  (cycle === undefined ? String(seriesCount++) : "").padStart(digits.series, "0");
const neverAgain = 10 ** digits.turn;

/** The whole request as text, split at the placeholders: only the number is inserted between the parts. */
function requestParts(url: string, scenario: Scenario): string[] {
  const { path, body, form } = scenario;
  const placeholders = body.split(placeholder).length - 1;
  const length =
    (form?.().bytes ?? Buffer.from(body)).length +
    placeholders * (digits.series + digits.turn - Buffer.byteLength(placeholder));
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    ...Object.entries(headersFor(scenario)).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${length}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`.split(placeholder);
}

// Escapes of JSON are valid in Lua, as long as the text is ASCII. `formFile`: the bytes of the form.
const script = (url: string, scenario: Scenario, formFile: string | undefined): string => `
local form = ${formFile ? `io.open(${JSON.stringify(formFile)}, "rb"):read("*a")` : '""'}
local parts = { ${requestParts(url, scenario)
  .map((part) => JSON.stringify(part))
  .join(", ")} }
local turn = 0
function request()
  turn = (turn + 1) % ${scenario.cycle ?? neverAgain}
  return table.concat(parts, string.format("${nextSeries(scenario)}%0${digits.turn}d", turn)) .. form
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
  const { path, body, connections, form } = scenario;
  if (!wrk) {
    if (form) throw new Error("forms need wrk, which is not installed");
    const parts = body.split(placeholder);
    const { cycle = neverAgain } = scenario;
    const bodies = { parts, series: nextSeries(scenario), digits: digits.turn, cycle };
    const headers = headersFor(scenario);
    const job = JSON.stringify({ url: url + path, ...bodies, headers, connections, seconds });
    return start([process.execPath, join(import.meta.dir, "fetch-load.ts"), job], cores.rest, {
      listen: true,
    });
  }
  const file = join(folder, "post.lua");
  const formFile = form && join(folder, "form.bin");
  if (formFile) writeFileSync(formFile, form().bytes);
  writeFileSync(file, script(url, scenario, formFile));
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
  const output = await new Response(child.output).text();
  await child.exited;
  const result = /^RESULT (.+)$/m.exec(output)?.[1];
  if (!result)
    throw new Error(`the load generator printed no result: ${child.errorOutput()} ${output}`);
  return JSON.parse(result) as Load;
}

/** Sends one request, to make sure that the measured response is correct. */
export async function sendOnce(url: string, scenario: Scenario): Promise<string> {
  const { path, body, form } = scenario;
  const response = await fetch(url + path, {
    method: "POST",
    headers: headersFor(scenario),
    body: form?.().bytes ?? body.replaceAll(placeholder, nextSeries(scenario)),
  });
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`${url}${path} responded with ${response.status}: ${text.slice(0, 500)}`);
  return text;
}
