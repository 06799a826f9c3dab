/** An upstream without credentials is refused at load, also if it accepts one of several kinds of credentials. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadSnapshot } from "../../server/config/load-snapshot.ts";
import { describeProblems } from "../../server/config/problem.ts";
import { temporaryFolder } from "../harness.ts";

function problemsWith(upstream: string): string {
  using folder = temporaryFolder();
  const path = join(folder.path, "vexel.yaml");
  writeFileSync(path, `upstreams:\n  - { id: u, ${upstream} }\n`);
  const loaded = loadSnapshot({ path, env: {} });
  return loaded.ok ? "" : describeProblems(loaded.problems);
}

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
