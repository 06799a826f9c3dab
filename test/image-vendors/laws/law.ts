/** A law: a statement that must hold for every image vendor. */
import type { GatewayName, LawContext, Operation } from "../law-gateway.ts";

export interface ImageLaw {
  /** Which gateway it needs. Absent: the plain one. */
  readonly gateway?: GatewayName;
  /** Which operations it is about: one of them, each by itself, or the vendor as such. Absent: each by itself. */
  readonly about?: Operation | "vendor";
  /** Fails where the law does not hold. */
  holds(context: LawContext, operation: Operation): Promise<void>;
}

export type ImageLaws = Readonly<Record<string, ImageLaw>>;
