/**
 * A disk that is never full. Not in harness.ts: the laws of the stores start processes to kill them, and each would
 * load the whole gateway.
 */
export const unlimitedDisk = { hasSpace: () => true, recordWrite: () => undefined };
