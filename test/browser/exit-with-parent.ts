/**
 * Preloaded into a gateway that several test files share: deletes its folder and ends when the test process has ended.
 */
import { rmSync } from "node:fs";
import "../admin/cheap-passwords.ts";

const { ppid } = process;
const folder = process.env.TEST_FOLDER ?? "";

setInterval(() => {
  try {
    process.kill(ppid, 0);
  } catch {
    rmSync(folder, { recursive: true, force: true });
    process.exit();
  }
}, 500);
