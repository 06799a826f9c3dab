/** An upstream without credentials is refused at load, also if it accepts one of several kinds of credentials. */
import { expect, test } from "bun:test";
import { problemsOf } from "./load-yaml.ts";

const problemsWith = (upstream: string): string =>
  problemsOf(`upstreams:\n  - { id: u, ${upstream} }\n`);

test.each([
  ["kind: bedrock, region: us-east-1", "needs apiKey, or accessKeyId and secretAccessKey"],
  ["kind: bedrock, region: us-east-1, accessKeyId: AKIA", "accessKeyId and secretAccessKey"],
  ["kind: vertex, project: p, location: us-central1", "or project and location and serviceAccount"],
  ['kind: azure, baseUrl: "https://a.example"', "needs apiKey, or auth"],
  ['kind: watsonx, baseUrl: "https://w.example", apiKey: k', "needs projectId, or spaceId"],
])("{ %s } is refused with the missing options", (upstream, message) => {
  expect(problemsWith(upstream)).toContain(message);
});

test.each([
  "kind: bedrock, region: us-east-1, apiKey: k",
  "kind: bedrock, region: us-east-1, accessKeyId: AKIA, secretAccessKey: s",
  "kind: vertex, project: p, location: us-central1, apiKey: k",
  'kind: watsonx, baseUrl: "https://w.example", apiKey: k, spaceId: s',
  "kind: vertex, apiKey: AQ.express-key",
  "kind: vertex, project: p, location: global, auth: { type: metadata }",
  "kind: bedrock, region: us-east-1, auth: { type: default }",
  'kind: azure, baseUrl: "https://a.example", auth: { type: workload-identity }',
])("{ %s } is accepted", (upstream) => {
  expect(problemsWith(upstream)).toBe("");
});

test.each([
  ["apiKey: k, auth: { type: managed-identity }", "upstreams[0].auth: set either apiKey or auth"],
  ["auth: { type: client-secret, tenantId: t, clientId: c }", "auth.clientSecret: is missing"],
  ["auth: { type: managed-identity, clientID: c }", "did you mean"],
])("an azure upstream with { %s } is refused with the reason", (auth, message) => {
  expect(problemsWith(`kind: azure, baseUrl: "https://a.example", ${auth}`)).toContain(message);
});

test.each([
  "http://169.254.169.254",
  "http://169.254.170.23/v1",
  "http://[fd00:ec2::254]",
  "http://[fd00:ec2::23]",
  "http://[::ffff:169.254.169.254]",
  "http://metadata.google.internal./computeMetadata",
])("the baseUrl %s is refused: only auth uses a metadata service", (baseUrl) => {
  expect(problemsWith(`kind: vllm, baseUrl: "${baseUrl}"`)).toContain(
    "baseUrl: is the address of a metadata service",
  );
});
