/** Priority classes: batch requests wait behind interactive requests, and are shed first. */

export type Priority = "interactive" | "batch";
