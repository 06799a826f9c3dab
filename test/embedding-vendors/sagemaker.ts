/**
 * SageMaker: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html, in front of
 * TEI.
 */
import type { Target } from "../../server/upstream/contract.ts";
import { textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, expectUrl, readBody, writeFloats } from "./written.ts";

const region = "eu-central-1";
const accessKeyId = "AKIAVEXEL00000000000";

const target: Target = {
  model: "our-embedder",
  upstream: {
    id: "sagemaker",
    kind: "sagemaker",
    headers: {},
    options: { region, accessKeyId, secretAccessKey: "wJalrXUtnFEMI/K7MDENG/vexel" },
  },
};

const understand: VendorCase["understand"] = (request) => {
  expectUrl(
    request,
    `https://runtime.sagemaker.${region}.amazonaws.com/endpoints/our-embedder/invocations`,
  );
  const body = readBody(request);
  expectOnly(body, ["inputs", "truncate", "normalize", "prompt_name"]);
  return { input: textsIn(body.inputs), encoding: "float" };
};

const errorBody = (message: string): string => JSON.stringify({ message });
/** SageMaker wraps the error message of the container. */
const wrapped = (inner: string): string =>
  JSON.stringify({
    ErrorCode: "CLIENT_ERROR_FROM_MODEL",
    message: `Received client error (413) from primary with message "${inner}".`,
    OriginalStatusCode: 413,
    OriginalMessage: inner,
  });

const caseOf = (name: string, wrap: (list: string) => string): VendorCase => ({
  name,
  target,
  understand,
  response: (vectors) => ({ body: wrap(`[${vectors.map(writeFloats).join(",")}]`) }),
  tellsUsage: false,
  refusals: refusalsOf([
    [
      "upstream_credentials",
      403,
      errorBody(
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.",
      ),
    ],
    [
      "upstream_forbidden",
      403,
      errorBody(
        `User: arn:aws:iam::471147114711:user/${accessKeyId} is not authorized to perform: sagemaker:InvokeEndpoint`,
      ),
    ],
    ["model_not_found", 400, errorBody("Endpoint our-embedder of account 471147114711 not found.")],
    ["upstream_rejected", 424, wrapped("batch size 40 > maximum allowed batch size 32")],
    ["upstream_rate_limit", 429, errorBody("Rate exceeded")],
    ["upstream_error", 500, errorBody("Internal failure")],
    ["upstream_overloaded", 503, errorBody("Service unavailable")],
  ]),
});

export const sagemakerCases: readonly VendorCase[] = [
  caseOf("sagemaker", (list) => list),
  caseOf("sagemaker, an older container", (list) => `{"embedding":${list}}`),
];
