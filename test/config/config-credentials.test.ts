/** An upstream without credentials is refused at load, also if it accepts one of several kinds of credentials. */
import { expect, test } from "bun:test";
import { problemsOf } from "./load-yaml.ts";

const problemsWith = (upstream: string): string =>
  problemsOf(`upstreams:\n  - { id: u, ${upstream} }\n`);

test.each([
  ["kind: bedrock, region: us-east-1", "needs apiKey, or accessKeyId and secretAccessKey"],
  ["kind: bedrock, region: us-east-1, accessKeyId: AKIA", "accessKeyId and secretAccessKey"],
  ["kind: vertex, project: p, location: us-central1", "needs apiKey, or serviceAccount"],
  ['kind: watsonx, baseUrl: "https://w.example", apiKey: k', "needs projectId, or spaceId"],
])("{ %s } is refused with the missing options", (upstream, message) => {
  expect(problemsWith(upstream)).toContain(message);
});

test.each([
  "kind: bedrock, region: us-east-1, apiKey: k",
  "kind: bedrock, region: us-east-1, accessKeyId: AKIA, secretAccessKey: s",
  "kind: vertex, project: p, location: us-central1, apiKey: k",
  'kind: watsonx, baseUrl: "https://w.example", apiKey: k, spaceId: s',
])("{ %s } is accepted", (upstream) => {
  expect(problemsWith(upstream)).toBe("");
});
