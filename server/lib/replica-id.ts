/** The id of this process among all that serve: short, because every response, log line and ledger row has it. */
import { randomBytes } from "node:crypto";

export const newReplicaId = (): string => randomBytes(6).toString("hex");
