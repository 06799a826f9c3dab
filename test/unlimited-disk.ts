/**
 * A disk that is never full. Not in harness.ts: the processes that the laws of the stores kill would load the whole
 * gateway for it.
 */
export const unlimitedDisk = { hasSpace: () => true, recordWrite: () => undefined };
