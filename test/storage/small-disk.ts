/** A disk of one's own for a test, which can really be full. */
import { temporaryFolder } from "../harness.ts";

export const mount = (...args: string[]): boolean =>
  Bun.spawnSync(["mount", ...args], { stdout: "ignore", stderr: "ignore" }).success;
export const unmount = (path: string): boolean =>
  Bun.spawnSync(["umount", "-l", path], { stdout: "ignore", stderr: "ignore" }).success;

export function mayMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  // There it must be possible: a promise that is never checked is none.
  if (process.env.CI === "true") return true;
  using folder = temporaryFolder();
  return mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", folder.path) && unmount(folder.path);
}

/** Returns what unmounts it. */
export function mountTmpfs(path: string, size: string): () => void {
  if (!mount("-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path)) {
    throw new Error(`A tmpfs could not be mounted on ${path}.`);
  }
  return () => unmount(path);
}
