/** The model that a playground chooses by itself: the first one that its vendor has not shut down. */
import type { ShownModel } from "../../../../contract/admin.ts";

export const isShutDown = ({ ends_on }: Pick<ShownModel, "ends_on">, now = Date.now()): boolean =>
  ends_on !== null && Date.parse(ends_on) <= now;

export const preselected = <Model extends Pick<ShownModel, "ends_on">>(
  available: readonly Model[],
): Model | undefined => available.find((model) => !isShutDown(model)) ?? available[0];
