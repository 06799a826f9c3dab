/**
 * Protections of other gateways that Vexel does not have. A key or a model that would lose one is not imported, unless
 * the user accepts the kind of loss by its name.
 */
export const losses = {
  agents: "limits and models of the agent that the key belongs to",
  "custom-auth": "code of the operator that authenticated requests",
  "deployment-tags": "deployments that only certain keys or requests could reach",
  "end-users": "budgets, blocks, models or regions of single end users",
  "enforced-params": "requests without certain parameters were refused",
  environments: "entries that were active in some environments, or at some times only",
  guardrails: "checks of the content of requests",
  "image-edits": "the key could generate images, and could not edit them",
  "ip-lists": "requests from other addresses were refused",
  "member-budgets": "a budget or limits that several keys of a member or a user share",
  "model-limits": "budgets or limits of a key, team or user for single models",
  organizations: "models, budget or limits of the organization",
  policies: "policies that added guardrails",
  "rate-limits": "limits of the requests of each user or address",
  regions: "deployments in certain regions only",
  "shared-budgets":
    "budgets of tags, access groups, projects, deployments, providers or the whole gateway",
  "token-limits": "a limit of tokens per day",
  "unknown-columns": "values of columns that this version of Vexel does not know",
  "unpriced-models": "requests for models without a price were refused",
} as const satisfies Readonly<Record<string, string>>;

export type Loss = keyof typeof losses;

/** A protection that a row of the other gateway has. */
export interface FoundLoss {
  readonly loss: Loss;
  /** The field that had the protection. */
  readonly field: string;
  readonly note: string;
}

export const isLoss = (name: string): name is Loss => Object.hasOwn(losses, name);
