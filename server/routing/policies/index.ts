/** The routing policies by their names in the configuration. */
import type { PolicyName } from "../../config/snapshot.ts";
import { cheapest } from "./cheapest.ts";
import type { Policy } from "./policy.ts";
import { sticky } from "./sticky.ts";
import { powerOfTwoChoices } from "./two-choices.ts";
import { weighted } from "./weighted.ts";

export const policies: Readonly<Record<PolicyName, Policy>> = {
  p2c: powerOfTwoChoices,
  weighted,
  cost: cheapest,
  sticky,
};
