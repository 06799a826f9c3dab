/** The model that a playground chooses by itself: the first one that its vendor has not shut down. */
import type { ShownModel } from "../../../../contract/admin.ts";

export const isShutDown = ({ ends_on }: Pick<ShownModel, "ends_on">, now = Date.now()): boolean =>
  ends_on !== null && Date.parse(ends_on) <= now;

/** Users are warned this long before a vendor shuts a model down. */
const warningMs = 90 * 86_400_000;

/** The date on which the vendor will shut the model down, if it is near. */
export const endsSoon = (
  { ends_on }: Pick<ShownModel, "ends_on">,
  now = Date.now(),
): string | undefined => {
  if (ends_on === null) return undefined;
  const end = Date.parse(ends_on);
  return end > now && end <= now + warningMs ? ends_on : undefined;
};

export const preselected = <Model extends Pick<ShownModel, "ends_on">>(
  available: readonly Model[],
): Model | undefined => available.find((model) => !isShutDown(model)) ?? available[0];
