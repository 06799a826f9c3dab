// `npm run soak`: twenty minutes of steady load; fails if memory, descriptors or latency grow. See bench/soak.ts.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("all");
const { status } = spawnSync(
  bunPath(),
  [join(root, "bench", "soak.ts"), ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: "inherit",
  },
);
process.exit(status ?? 1);
