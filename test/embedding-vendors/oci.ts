/**
 * Oracle's Generative AI:
 * https://docs.oracle.com/en-us/iaas/api/#/en/generative-ai-inference/latest/EmbedTextResult/EmbedText.
 */
import { generateKeyPairSync } from "node:crypto";
import type { Target } from "../../server/upstream/contract.ts";
import { words } from "../words.ts";
import { lengthIn, purposeIn, textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, expectUrl, outputTypeIn, readBody, writeFloats } from "./written.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
/** Short: it is in every upstream request, which the laws search for longer names of the operator. */
const compartmentId = "ocid1";

const targetOf = (model: string): Target => ({
  model,
  upstream: {
    id: "oci",
    kind: "oci",
    headers: {},
    options: {
      region: "us-chicago-1",
      compartmentId,
      tenancy: "ocid1.tenancy.oc1..aaaaaaaatenancy",
      user: "ocid1.user.oc1..aaaaaaaauser",
      fingerprint: "20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34",
      privateKey: privateKey.export({ type: "pkcs8", format: "pem" }),
    },
  },
});

const understand: VendorCase["understand"] = (request, { model }) => {
  const host = "https://inference.generativeai.us-chicago-1.oci.oraclecloud.com";
  expectUrl(request, `${host}/20231130/actions/embedText`);
  const body = readBody(request);
  expectOnly(
    body,
    words(
      "compartmentId servingMode inputs inputType truncate outputDimensions isEcho embeddingTypes",
    ),
  );
  const serving = model.startsWith("ocid1.generativeaiendpoint.")
    ? { servingType: "DEDICATED", endpointId: model }
    : { servingType: "ON_DEMAND", modelId: model };
  if (JSON.stringify(body.servingMode) !== JSON.stringify(serving)) throw new Error("no model");
  if (body.compartmentId !== compartmentId) throw new Error("compartmentId is required");
  if (body.truncate !== "NONE") throw new Error("a long text would be cut");
  return {
    input: textsIn(body.inputs),
    encoding: "float",
    ...lengthIn(body.outputDimensions),
    ...purposeIn(body.inputType),
    ...outputTypeIn([body.embeddingTypes].flat()[0]),
  };
};

const errorBody = (code: string, message: string): string =>
  JSON.stringify({ code, message, "opc-request-id": "B1D9" });

const caseOf = (name: string, target: Target): VendorCase => ({
  name,
  target,
  understand,
  response: (vectors, tokens) => {
    const rows = vectors.map(writeFloats).join(",");
    // Oracle counts tokens per text; here the first text has all of them.
    const counts =
      tokens === undefined
        ? ""
        : `,"inputTextTokenCounts":[${vectors.map((_, at) => (at === 0 ? tokens : 0)).join(",")}]`;
    return {
      body: `{"id":"0","modelId":"${target.model}","modelVersion":"1.0","embeddings":[${rows}]${counts}}`,
    };
  },
  quantized: (vectors, type) => ({
    body: JSON.stringify({
      id: "0",
      embeddings: null,
      embeddingsByType: { [type]: vectors.map((vector) => [...vector]) },
    }),
  }),
  tellsUsage: true,
  refusals: refusalsOf([
    [
      "upstream_credentials",
      401,
      errorBody("NotAuthenticated", "The required information to complete authentication failed."),
    ],
    [
      "model_not_found",
      404,
      errorBody("NotAuthorizedOrNotFound", "Authorization failed or requested resource not found."),
    ],
    ["model_not_found", 404, errorBody("404", `Entity with key ${target.model} not found`)],
    [
      "upstream_rejected",
      400,
      errorBody("400", "Please provide a list of inputs with a maximum length of 96."),
    ],
    ["upstream_rejected", 400, errorBody("400", "input must be at most 512 tokens long")],
    [
      "upstream_rate_limit",
      429,
      errorBody("TooManyRequests", `Too many requests for the user in ${compartmentId}.`),
    ],
    ["upstream_error", 500, errorBody("InternalServerError", "oops")],
    ["upstream_overloaded", 503, errorBody("ServiceUnavailable", "busy")],
  ]),
});

export const ociCases: readonly VendorCase[] = [
  caseOf("oci", targetOf("cohere.embed-v4.0")),
  caseOf("oci, an image model", targetOf("cohere.embed-multilingual-image-v3.0")),
  caseOf("oci, an endpoint of one's own", targetOf("ocid1.generativeaiendpoint.oc1..aaaa")),
];
