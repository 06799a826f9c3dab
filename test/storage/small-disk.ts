/** A tmpfs mount for a test: a small disk that can really be full. */
import { temporaryFolder } from "../harness.ts";

export const mount = (...args: string[]): boolean =>
  Bun.spawnSync(["mount", ...args], { stdout: "ignore", stderr: "ignore" }).success;
export const unmount = (path: string): boolean =>
  Bun.spawnSync(["umount", "-l", path], { stdout: "ignore", stderr: "ignore" }).success;

export function mayMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  // In CI the tests must run: a mount that fails there is an error, not a reason to skip.
  if (process.env.CI === "true") return true;
  using folder = temporaryFolder();
  return mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", folder.path) && unmount(folder.path);
}

/** Returns a function that unmounts it. */
export function mountTmpfs(path: string, size: string): () => void {
  if (!mount("-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path)) {
    throw new Error(`A tmpfs could not be mounted on ${path}.`);
  }
  return () => unmount(path);
}
