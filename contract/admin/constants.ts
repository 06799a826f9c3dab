/** Constants of the admin API. Without zod: the console loads them with its first page. */

/** Shown instead of the value of a secret setting. */
export const secretMask = "********";

/** Of new passwords. */
export const minPasswordLength = 12;

export const policyNames = ["p2c", "weighted", "cost", "sticky"] as const;

export const connectionSteps = ["dns", "tcp", "tls", "http", "credential"] as const;

export const usageDimensions = ["key", "project", "model", "target", "tag", "end_user"] as const;
export type UsageDimension = (typeof usageDimensions)[number];

export const usageIntervals = ["hour", "day", "month", "total"] as const;
