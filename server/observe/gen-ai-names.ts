/** The names that the GenAI semantic conventions of OpenTelemetry define for operations and providers. */
import type { Operation } from "../request/operation.ts";
import type { Target } from "../upstream/contract.ts";

/** The conventions define no name for moderation. */
const operationNames: Readonly<Record<Operation, string>> = {
  embeddings: "embeddings",
  generations: "generate_content",
  edits: "generate_content",
  moderations: "moderation",
};

/** Where they differ from the kind of the upstream. */
const providerNames: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  "azure-ai": "azure.ai.inference",
  bedrock: "aws.bedrock",
  gemini: "gcp.gemini",
  mistral: "mistral_ai",
  vertex: "gcp.vertex_ai",
  watsonx: "ibm.watsonx.ai",
  xai: "x_ai",
};

/** `gen_ai.operation.name`. */
export const operationName = (endpoint: string): string =>
  operationNames[endpoint as Operation] ?? endpoint;

/** `gen_ai.provider.name`. */
export const providerName = ({ upstream }: Target): string =>
  providerNames[upstream.kind] ?? upstream.kind;
