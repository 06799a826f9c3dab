/**
 * Configuration of limits in vexel.yaml and on the command line: validation messages, and counts that survive a reload.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readText } from "../../server/config/yaml/yaml-file.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";
import { embedder, yamlFor } from "./limits-fixture.ts";

const problemsOf = (text: string): string[] => {
  const read = readText({ text, file: "vexel.yaml", env: {} });
  return read.ok ? [] : read.problems.map(({ key, message }) => `${key}: ${message}`);
};
const key = "sk-0123456789abcdef";

describe("a mistake in limits is reported with its location", () => {
  test.each([
    [
      `keys: [{ name: a, key: ${key}, limits: { requestsPerMinut: 3 } }]`,
      /keys\[0\]\.limits\.requestsPerMinut: unknown key \(did you mean `requestsPerMinute`\?\)/,
    ],
    [`keys: [{ name: a, key: ${key}, limits: { requestsPerMinute: 0 } }]`, /must be at least 1/],
    [`keys: [{ name: a, key: ${key}, limits: { concurrent: 1.5 } }]`, /must be a whole number/],
    [
      `keys: [{ name: a, key: ${key}, limits: { megapixelsPerMinute: -1 } }]`,
      /must be at least 0\.001/,
    ],
    [
      `keys: [{ name: a, key: ${key}, project: acme }]\nprojects: [{ name: acmee }]`,
      /keys\[0\]\.project: there is no project "acme" \(did you mean "acmee"\?\)/,
    ],
    [
      "projects: [{ name: a }, { name: a }]",
      /projects\[1\]\.name: "a" is the same as projects\[0\]\.name/,
    ],
    ["projects: [{ nam: a }]", /projects\[0\]\.nam: unknown key \(did you mean `name`\?\)/],
    [
      "upstreams: [{ id: o, kind: openai, apiKey: sk-x, limits: { perMinute: 3 } }]",
      /upstreams\[0\]\.limits\.perMinute: unknown key/,
    ],
  ])("in %s", (text, message) => {
    expect(problemsOf(text).join("\n")).toMatch(message);
  });
});

describe("while a gateway runs", () => {
  const fake = startFake();
  const folder = temporaryFolder();
  const data = join(folder.path, "data");
  let gateway: GatewayProcess;
  const write = (one: string, projects = "  - { name: acme, limits: { requestsPerMinute: 2 } }") =>
    writeFileSync(join(folder.path, "vexel.yaml"), yamlFor(fake.url, { keys: { one }, projects }));
  const embed = (secret: string) =>
    gateway.post(
      "/v1/embeddings",
      { model: embedder, input: "a", dimensions: 2 },
      { authorization: `Bearer ${secret}` },
    );
  const remainingOf = async (secret: string): Promise<string | null> => {
    const response = await embed(secret);
    await response.text();
    return response.headers.get("x-ratelimit-remaining-requests");
  };
  beforeAll(async () => {
    const yaml = yamlFor(fake.url, {
      keys: { one: "limits: { requestsPerMinute: 100 }" },
      projects: "  - { name: acme, limits: { requestsPerMinute: 2 } }",
    });
    gateway = await startProcess({ folder: folder.path, yaml });
  });
  afterAll(async () => {
    gateway.kill("SIGKILL");
    await gateway.exited;
    fake.close();
    folder[Symbol.dispose]();
  });
  const create = async (...args: string[]): Promise<string> => {
    const env = { VEXEL_DATA: data };
    const { code, out } = await vexel(["keys", "create", ...args], { cwd: folder.path, env });
    expect(code).toBe(0);
    const secret = out.trim();
    for (;;) {
      const models = await fetch(`${gateway.url}/v1/models`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      await models.text();
      if (models.status === 200) return secret;
      await Bun.sleep(20);
    }
  };

  test("a key created on the command line has its limits and its project", async () => {
    const own = await create("--name", "own", "--requests-per-minute", "7", "--concurrent", "2");
    expect(await remainingOf(own)).toBe("6");
    const shared = await create("--name", "shared", "--project", "acme");
    expect(await remainingOf(shared)).toBe("1");
    const listed = await vexel(["keys", "list"], { cwd: folder.path, env: { VEXEL_DATA: data } });
    expect(listed.out).toMatch(/own +sk-vx-\S+ +\* +7 requests\/min, 2 concurrent/);
    expect(listed.out).toMatch(/shared +sk-vx-\S+ +\* +acme/);
  });

  test("a limit that is not a number is rejected, and no key is created", async () => {
    const rejected = await vexel(["keys", "create", "--tokens-per-minute", "lots"], {
      cwd: folder.path,
      env: { VEXEL_DATA: data },
    });
    expect(rejected.code).toBe(2);
    expect(rejected.err).toContain(
      '--tokens-per-minute must be a whole number above 0, not "lots".',
    );
  });

  test("a reload keeps the used share of a limit, and a removed limit no longer applies", async () => {
    const secret = "sk-limited-one-0123456789";
    for (let at = 0; at < 50; at++) await remainingOf(secret);
    const reloads = () => gateway.output().split('"config-reloaded"').length;
    const before = reloads();
    write("limits: { requestsPerMinute: 1000 }");
    await until(() => reloads() > before);
    const remaining = Number(await remainingOf(secret));
    // Half of the old limit was used, so half of the new one is left, and the bucket refills in the meantime.
    expect(remaining).toBeGreaterThan(480);
    expect(remaining).toBeLessThan(650);
    write("");
    await until(() => reloads() > before + 1);
    expect(await remainingOf(secret)).toBeNull();
  });

  test("a change of a project alone is applied", async () => {
    const reloads = () => gateway.output().split('"config-reloaded"').length;
    const before = reloads();
    write("", "  - { name: acme, limits: { requestsPerMinute: 5000 } }");
    await until(() => reloads() > before);
    expect(gateway.output()).toContain("1 project changed");
  });
});
