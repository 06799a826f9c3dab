/** Every vendor and its adapter, by the name a configuration calls it. */
import type { Adapter } from "../adapter.ts";
import type { Vendor } from "../vendor.ts";
import { azure } from "./azure.ts";
import { azureAi } from "./azure-ai.ts";
import { bedrock } from "./bedrock.ts";
import { cloudflare } from "./cloudflare.ts";
import { cohere } from "./cohere.ts";
import { dashscope } from "./dashscope.ts";
import { databricks } from "./databricks.ts";
import { fromDialect } from "./dialect.ts";
import { dialects } from "./dialects.ts";
import { gemini } from "./gemini.ts";
import { huggingface } from "./huggingface.ts";
import { jina } from "./jina.ts";
import { mistral } from "./mistral.ts";
import { nomic } from "./nomic.ts";
import { oci } from "./oci.ts";
import { ollama } from "./ollama.ts";
import { perplexity } from "./perplexity.ts";
import { sagemaker } from "./sagemaker.ts";
import { sap } from "./sap.ts";
import { snowflake } from "./snowflake.ts";
import { tei } from "./tei.ts";
import { triton } from "./triton.ts";
import { vertex } from "./vertex.ts";
import { voyage } from "./voyage.ts";
import { watsonx } from "./watsonx.ts";

/** Those that speak as OpenAI does. */
export const openaiShaped: readonly Vendor[] = [...dialects.map(fromDialect), azure, azureAi];

/** Those with a language of their own. */
export const native: readonly Vendor[] = [
  gemini,
  vertex,
  bedrock,
  ollama,
  tei,
  huggingface,
  mistral,
  cohere,
  voyage,
  jina,
  nomic,
  perplexity,
  cloudflare,
  dashscope,
  watsonx,
  snowflake,
  databricks,
  sagemaker,
  oci,
  sap,
  triton,
];

export const vendors: readonly Vendor[] = [...openaiShaped, ...native];

export const adapters: ReadonlyMap<string, Adapter> = new Map(
  vendors.map(({ adapter }) => [adapter.name, adapter]),
);
