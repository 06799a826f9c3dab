// `npm pack` runs this: writes THIRD-PARTY-NOTICES for the npm package, which has the packages of the console in its
// bundle. npm installs the other packages, each with its own license.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureInstalled, root } from "../install.mjs";
import { consoleComponents } from "./components.mjs";
import { noticesOf } from "./notices.mjs";

ensureInstalled("run");
const title = "Software of others in the web console of this package.";
writeFileSync(join(root, "THIRD-PARTY-NOTICES"), noticesOf(title, consoleComponents()));
