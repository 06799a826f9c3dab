/**
 * Upstreams that do not come from the configuration file, and their models: built in, which need no account, or
 * provisioned by an environment variable.
 */

import { missingLib } from "../../lib/executable.ts";
import type { CatalogModel } from "../../upstream/catalog/served-models.ts";
import type { Upstream } from "../../upstream/contract.ts";
import type { Source } from "../snapshot.ts";

export interface ProvisionedUpstream {
  /** The environment variable that provisions it. Absent for built-in models. */
  readonly variable?: string;
  readonly upstream: Upstream;
  readonly models: readonly ProvisionedModel[];
}

export const sourceOf = ({ variable }: ProvisionedUpstream): Source =>
  variable === undefined ? "built-in" : "environment";

export interface ProvisionedModel extends CatalogModel {
  /** Its name at the upstream. */
  readonly name: string;
  readonly description?: string;
}

const builtIn = (
  id: string,
  kind: string,
  model: Omit<ProvisionedModel, "name">,
): ProvisionedUpstream => ({
  upstream: { id, kind, headers: {}, options: {} },
  models: [{ ...model, name: model.id }],
});

const installed: readonly ProvisionedUpstream[] = [
  builtIn("vexel-minilm", "minilm", {
    id: "all-minilm-l6-v2",
    kind: "embedding",
    dimensions: 384,
    description: "A small English sentence model that runs inside the gateway.",
  }),
  builtIn("vexel-sketch", "sketch", {
    id: "vexel-sketch",
    kind: "image",
    description:
      "A drawing program, not a neural model: it draws a scene from words of the prompt that it knows.",
  }),
];

export const builtInUpstreams: readonly ProvisionedUpstream[] =
  missingLib === undefined ? installed : [];

/** Those that are not switched off. `provisioned`: by environment variables. */
export const availableUpstreams = (
  config: { readonly environment: boolean; readonly builtInModels: boolean },
  provisioned: readonly ProvisionedUpstream[],
): readonly ProvisionedUpstream[] => [
  ...(config.environment ? provisioned : []),
  ...(config.builtInModels ? builtInUpstreams : []),
];
