/** What a law about vendors that draw is made of. */
import type { HouseName, Operation, Place } from "../house.ts";

export interface PictureLaw {
  /** Which gateway it needs. Absent: the plain one. */
  readonly house?: HouseName;
  /** Which operations it is about: one of them, each by itself, or the vendor as such. Absent: each by itself. */
  readonly about?: Operation | "vendor";
  /** Fails where the law does not hold. */
  holds(place: Place, operation: Operation): Promise<void>;
}

export type PictureLaws = Readonly<Record<string, PictureLaw>>;
