/** The built-in models, which need no account. */
import { missingLib } from "../../lib/executable.ts";
import type { ProvisionedModel, ProvisionedUpstream } from "./provision.ts";

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
