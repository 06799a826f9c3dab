/** All vendor cases. A new vendor needs one import and one entry. */
import { bedrockCases } from "./bedrock.ts";
import { cloudflareCases } from "./cloudflare.ts";
import { cohereCases } from "./cohere.ts";
import { dashscopeCases } from "./dashscope.ts";
import { databricksCases } from "./databricks.ts";
import { geminiCases } from "./gemini.ts";
import { gigachatCases } from "./gigachat.ts";
import { huggingfaceCases } from "./huggingface.ts";
import { jinaCases } from "./jina.ts";
import { mistralCases } from "./mistral.ts";
import { nomicCases } from "./nomic.ts";
import { ociCases } from "./oci.ts";
import { ollamaCases } from "./ollama.ts";
import { openaiShapedCases } from "./openai-shaped.ts";
import { perplexityCases } from "./perplexity.ts";
import { sagemakerCases } from "./sagemaker.ts";
import { sapCases } from "./sap.ts";
import { snowflakeCases } from "./snowflake.ts";
import { teiCases } from "./tei.ts";
import { tritonCases } from "./triton.ts";
import { twelvelabsCases } from "./twelvelabs.ts";
import type { VendorCase } from "./vendor-case.ts";
import { vertexCases } from "./vertex.ts";
import { volcengineCases } from "./volcengine.ts";
import { voyageCases } from "./voyage.ts";
import { watsonxCases } from "./watsonx.ts";

export const vendorCases: readonly VendorCase[] = [
  ...openaiShapedCases,
  ...geminiCases,
  ...vertexCases,
  ...bedrockCases,
  ...ollamaCases,
  ...teiCases,
  ...huggingfaceCases,
  ...mistralCases,
  ...cohereCases,
  ...voyageCases,
  ...volcengineCases,
  ...jinaCases,
  ...nomicCases,
  ...perplexityCases,
  ...cloudflareCases,
  ...dashscopeCases,
  ...watsonxCases,
  ...snowflakeCases,
  ...databricksCases,
  ...sagemakerCases,
  ...ociCases,
  ...sapCases,
  ...tritonCases,
  ...gigachatCases,
  ...twelvelabsCases,
];
