/** A law: a statement that must hold for every image vendor. */
import type { FakeVendor } from "../image-vendor.ts";
import type { GatewayName, LawContext, Operation } from "../law-gateway.ts";

export interface ImageLaw {
  /** Which gateway it needs. The default is the plain one. */
  readonly gateway?: GatewayName;
  /** Which operations it is about: one of them, each by itself, or the vendor as such. If absent, each by itself. */
  readonly about?: Operation | "vendor";
  /**
   * Vendors with the same value are alike to this law, so only the first of them is tried. If absent, each is tried.
   */
  readonly alike?: (vendor: FakeVendor, operation: Operation) => string;
  /** Fails where the law does not hold. */
  holds(context: LawContext, operation: Operation): Promise<void>;
}

export type ImageLaws = Readonly<Record<string, ImageLaw>>;
