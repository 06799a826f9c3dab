/**
 * Connections that one law after the other uses: the server takes 10 ms of CPU time for each new one, and no store keeps
 * anything in its session.
 */
import { PostgresDatabase } from "../../../server/storage/postgres/database.ts";

const idle: ReusedDatabase[] = [];
let hasLawEnded = false;

/** Is closed if a law closes it, and kept for the next law if no law has. */
class ReusedDatabase extends PostgresDatabase {
  #isClosed = false;

  override async close(): Promise<void> {
    if (!hasLawEnded) {
      this.#isClosed = true;
      await super.close();
    } else if (!this.#isClosed && !idle.includes(this)) idle.push(this);
  }
}

export const startLaw = (): void => {
  hasLawEnded = false;
};

export const endLaw = (): void => {
  hasLawEnded = true;
};

export const connect = (url: string): PostgresDatabase =>
  // Few connections: some laws open several stores.
  idle.pop() ?? new ReusedDatabase({ url, now: () => 1000, maxConnections: 4 });
