/** The dependencies of every part: settings, configuration, log, clocks, randomness, events and resources. */

import type { Emit } from "../../contract/events.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { ByteTurns } from "../lib/byte-turns.ts";
import type { Log } from "../lib/log.ts";
import type { ResponseMemory } from "../limits/response-memory.ts";
import type { Settings } from "../settings.ts";
import type { SecretBox } from "../storage/encrypt-secret.ts";

export interface Runtime {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  readonly log: Log;
  /** The id of this process among all that serve. */
  readonly replica: string;
  /** Unix milliseconds, of the database if replicas share one: what is stored has its times. */
  readonly now: () => number;
  /** Unix milliseconds of this machine, for what vendors compare with their clocks. */
  readonly systemNow: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly random: () => number;
  readonly emit: Emit;
  /** For reading stored bytes. */
  readonly byteTurns: ByteTurns;
  /** The memory of large responses. */
  readonly responseMemory: ResponseMemory;
  /** Encrypts what is stored: with `VEXEL_SECRET`, or with the generated key of the data folder. */
  readonly secrets: SecretBox;
  /** Released in reverse order when the gateway closes, or if it cannot start. */
  readonly resources: AsyncDisposableStack;
}
