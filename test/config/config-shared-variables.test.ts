/** Variables that many machines have for other reasons do not provision an upstream by themselves. */
import { expect, test } from "bun:test";
import { fromEnvironment } from "../../server/config/sources/environment-source.ts";

const nothing = { upstreams: [], warnings: [] };

test("AWS's own variables provision nothing and cause no warning", () => {
  expect(fromEnvironment({ AWS_REGION: "eu-central-1" })).toEqual(nothing);
  const keys = { AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: "s", AWS_REGION: "us-east-1" };
  expect(fromEnvironment(keys)).toEqual(nothing);
});

test("a Bedrock key and a region provision the Bedrock upstream", () => {
  const env = { AWS_BEARER_TOKEN_BEDROCK: "key-of-bedrock", AWS_REGION: "eu-central-1" };
  const { upstreams: provided, warnings } = fromEnvironment(env);
  expect(warnings).toEqual([]);
  expect(provided.map(({ upstream }) => upstream)).toEqual([
    {
      id: "bedrock",
      kind: "bedrock",
      apiKey: "key-of-bedrock",
      headers: {},
      options: { region: "eu-central-1" },
    },
  ]);
});

test("a Bedrock key without a region is reported as a warning", () => {
  const { upstreams: provided, warnings } = fromEnvironment({
    AWS_BEARER_TOKEN_BEDROCK: "key-of-bedrock",
  });
  expect(provided).toEqual([]);
  expect(warnings.map(({ message }) => message)).toEqual([
    "AWS_BEARER_TOKEN_BEDROCK is set, but AWS_REGION is not: the upstream bedrock is not created",
  ]);
});
