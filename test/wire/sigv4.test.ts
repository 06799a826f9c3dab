/** AWS Signature Version 4: AWS's own test suite, and a Bedrock model ID, which is encoded twice. */
import { expect, test } from "bun:test";
import { signatureHeaders } from "../../server/upstream/adapters/amazon/sigv4.ts";
import suite from "../data/sigv4/vectors.json";

interface Case {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly authorization: string;
  readonly service?: string;
  readonly sessionToken?: string;
}

const { accessKeyId, secretAccessKey, region, at } = suite;

test.each((suite.vectors as Case[]).map((vector) => [vector.name, vector] as const))(
  "%s is signed as AWS signs it",
  (_, { service = suite.service, sessionToken, authorization, ...request }) => {
    const signer = { accessKeyId, secretAccessKey, sessionToken, region, service };
    const headers = signatureHeaders(request, signer, Date.parse(at));
    expect(headers).toEqual({
      "x-amz-date": "20150830T123600Z",
      ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }),
      authorization,
    });
  },
);
