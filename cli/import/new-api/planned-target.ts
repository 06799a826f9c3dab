/** A model of a channel of new-api, at one of the channel's credentials. */
import type { ModelKind } from "../../../contract/model-kinds.ts";
import type { PlannedPrice } from "../list-price.ts";

export interface PlannedTarget {
  readonly model: string;
  readonly kind: ModelKind;
  readonly upstream: string;
  readonly upstreamKind: string;
  readonly upstreamModel: string;
  readonly priority: number;
  readonly weight: number;
  /** Of users and tokens that may use the channel. */
  readonly groups: readonly string[];
  readonly planned: PlannedPrice;
}
