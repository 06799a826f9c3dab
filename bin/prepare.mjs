// The first half of `npm start`: installs missing dependencies and exits, so that Node takes no memory while the
// gateway runs. The second half is cli/start.ts, under Bun.
import { ensureInstalled } from "./install.mjs";

ensureInstalled("run");
