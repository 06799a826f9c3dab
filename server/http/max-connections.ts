/** Max connections of clients: the setting, or what the file descriptor limit of the process allows. */
import { readFileSync } from "node:fs";

/** A higher default would need more memory than a small machine has. */
const maxByDefault = 10_000;
/** For files, the database, the log and its pipes, workers, and connections that are being refused. */
const ownDescriptors = 256;
/** Used if the limit cannot be read. */
const usualLimit = 1024;

/** `configured`: 0 if the limit of the process decides. */
export function maxConnections(
  { configured, maxConcurrent }: { readonly configured: number; readonly maxConcurrent: number },
  limit = descriptorLimit(),
): number {
  if (configured > 0) return configured;
  const left = limit - Math.min(ownDescriptors, limit / 4);
  // Every request in flight may have an upstream connection.
  const upstreamConnections = Math.min(left / 2, maxConcurrent);
  return Math.min(maxByDefault, Math.floor(left - upstreamConnections));
}

/** The soft limit of open files: from /proc on Linux, from the process report elsewhere. */
function descriptorLimit(): number {
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
