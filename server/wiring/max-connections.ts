/** How many connections are served at once: the setting, or what the descriptor limit of the process allows. */
import { readFileSync } from "node:fs";
import type { Settings } from "../settings.ts";

/** More by default would cost more memory than a small machine has. */
const mostByDefault = 10_000;
/** For files, the database, the log and its pipes, workers, and connections that are being refused. */
const ownDescriptors = 256;
/** Without a limit that can be read. */
const usualLimit = 1024;

export function maxConnections(
  { VEXEL_MAX_CONNECTIONS, VEXEL_MAX_CONCURRENT }: Settings,
  limit = descriptorLimit(),
): number {
  if (VEXEL_MAX_CONNECTIONS > 0) return VEXEL_MAX_CONNECTIONS;
  const left = limit - Math.min(ownDescriptors, limit / 4);
  // Every request in flight may have an upstream connection.
  const upstreamConnections = Math.min(left / 2, VEXEL_MAX_CONCURRENT);
  return Math.min(mostByDefault, Math.floor(left - upstreamConnections));
}

/** The soft limit of open files. Linux tells it in /proc; elsewhere the report of the process does. */
export function descriptorLimit(): number {
  return Number(fromProc() ?? fromReport()) || usualLimit;
}

function fromProc(): string | undefined {
  try {
    return /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  } catch {
    return undefined;
  }
}

function fromReport(): unknown {
  const report = process.report?.getReport() as
    | { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } }
    | undefined;
  return report?.userLimits?.open_files?.soft;
}
