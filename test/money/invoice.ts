/** What the fake vendors would bill: one line for each upstream request, and each line of a vendor's batch. */
import type { Nano } from "./program.ts";

export interface InvoiceLine {
  readonly vendor: string;
  readonly model: string;
  /** The names of the texts, or of the prompt. */
  readonly names: readonly string[];
  /** Null if the gateway does not know the price. */
  readonly amount: Nano | null;
  /** Of the work without its usage: the least that an estimate of it may be. */
  readonly least: Nano;
  /** Unix milliseconds, of the machine. */
  readonly at: number;
  /**
   * - served: the whole response was sent, with its usage.
   * - unmetered: the whole response was sent, without a usage that can be true.
   * - maybe: the gateway cannot know whether it is billed.
   * - refused: the vendor bills nothing.
   */
  state: "served" | "unmetered" | "maybe" | "refused";
}

export const isBilled = ({ state }: InvoiceLine): boolean => state !== "refused";
