/**
 * An upstream that does not come from the configuration file, and its models. It is built in, or an environment
 * variable provisions it.
 */

import type { CatalogModel } from "../../upstream/catalog/served-models.ts";
import type { Upstream } from "../../upstream/contract.ts";

export interface ProvisionedUpstream {
  /** The environment variable that provisions it. Absent for built-in models. */
  readonly variable?: string;
  readonly upstream: Upstream;
  readonly models: readonly ProvisionedModel[];
}

export interface ProvisionedModel extends CatalogModel {
  /** Its name at the upstream. */
  readonly name: string;
  readonly description?: string;
}
