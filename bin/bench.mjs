// `npm run bench`: the gateway compared with nginx, as ratios within one run. `npm run bench -- built-in`: the built-in
// model. `npm run bench -- faults`: upstreams that misbehave. `npm run bench -- bodies`: JSON bodies that are expensive
// to parse. `npm run bench -- hostile`: clients that misbehave. `npm run bench -- ledger` and `postgres-ledger`: a
// large ledger in SQLite and in PostgreSQL. `npm run bench -- replicas`: the load of replicas on PostgreSQL and Redis.
// `npm run bench -- cache-policy`: hit rates and CPU of the embedding cache. `npm run bench -- quantization`: the
// ranking quality of binary vectors. `npm run topology`: faults of replicas. `npm run bench -- failover`: failovers of
// Redis and PostgreSQL under load. `npm run bench -- jobs`: a corpus as one batch, kills, and interactive requests.
// `npm run bench -- console`: the console of a large gateway in Chromium.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("all");
const [first, ...others] = process.argv.slice(2);
const [program, args] = [
  "built-in",
  "cache-policy",
  "console",
  "failover",
  "quantization",
  "faults",
  "bodies",
  "hostile",
  "jobs",
  "ledger",
  "postgres-ledger",
  "replicas",
  "topology",
].includes(first)
  ? [`${first}.ts`, others]
  : ["run.ts", process.argv.slice(2)];
const { status } = spawnSync(bunPath(), [join(root, "bench", program), ...args], {
  cwd: root,
  stdio: "inherit",
});
process.exit(status ?? 1);
