/**
 * Preloaded into a gateway that several test files share: deletes its folder and ends when the test process has ended.
 */
import { rmSync } from "node:fs";
import "../admin/cheap-passwords.ts";

const { ppid } = process;
const folder = process.env.TEST_FOLDER ?? "";

// Child processes of the gateway are preloaded too: a timer that is not unreferenced would keep the build of the
// console from ending.
setInterval(() => {
  try {
    process.kill(ppid, 0);
  } catch {
    rmSync(folder, { recursive: true, force: true });
    process.exit();
  }
}, 500).unref();
