// `npm run audit`, the dependency audit: fails if a package that users install has a known vulnerability of high or
// critical severity, or if the registry does not respond. With --allow-offline, an audit that could not run is reported
// and does not fail.
import { spawnSync } from "node:child_process";
import { root } from "./install.mjs";

const { stdout, error } = spawnSync("npm", ["audit", "--omit=dev", "--json"], {
  cwd: root,
  encoding: "utf8",
  maxBuffer: 64 * 1024 * 1024,
  timeout: 60_000,
});
const report = parse(stdout ?? "");
const counts = report?.metadata?.vulnerabilities;
if (!counts) {
  const reason = report?.error?.summary || report?.message || error?.message || "no report";
  console.log(`The packages were NOT checked: ${reason}`);
  process.exitCode = process.argv.includes("--allow-offline") ? 0 : 1;
} else {
  const severe = Object.values(report.vulnerabilities).filter(({ severity }) =>
    ["high", "critical"].includes(severity),
  );
  for (const { name, severity, range } of severe) console.log(`${severity}: ${name} ${range}`);
  console.log(`${counts.total} known vulnerabilities, ${severe.length} high or critical.`);
  process.exitCode = severe.length === 0 ? 0 : 1;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    // npm prints no JSON if it fails early.
    return undefined;
  }
}
