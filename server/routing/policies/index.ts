/** The routing policies by their names in the configuration. */
import type { PolicyName } from "../../config/snapshot.ts";
import { cost } from "./cost.ts";
import { p2c } from "./p2c.ts";
import type { Policy } from "./policy.ts";
import { sticky } from "./sticky.ts";
import { weighted } from "./weighted.ts";

export const policies: Readonly<Record<PolicyName, Policy>> = {
  p2c,
  weighted,
  cost,
  sticky,
};
