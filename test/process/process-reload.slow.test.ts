/**
 * Configuration reload: a change of vexel.yaml applies completely or not at all, and no request fails.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";

const fake = startFake();
const folder = temporaryFolder();
const path = join(folder.path, "vexel.yaml");
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startProcess({ folder: folder.path, yaml: configFor(fake.url) });
});
afterAll(async () => {
  gateway.kill("SIGKILL");
  await gateway.exited;
  fake.close();
  folder[Symbol.dispose]();
});

const withModel = (id: string): string =>
  configFor(fake.url).replace(
    "models:\n",
    `models:\n  - { id: ${id}, kind: embedding, targets: [{ upstream: fake, model: ${embeddingModel} }] }\n`,
  );
const embed = (model: string) =>
  gateway.post("/v1/embeddings", { model, input: "a", dimensions: 2 });
const count = (event: string): number => gateway.output().split(`"event":"${event}"`).length - 1;

const untilServed = (model: string): Promise<void> =>
  until(async () => {
    const response = await embed(model);
    await response.text();
    return response.status === 200;
  });

describe("while requests are in flight", () => {
  test("three changes are each applied, and no request fails", async () => {
    let flowing = true;
    const statuses = new Map<number | string, number>();
    const flow = async (): Promise<void> => {
      while (flowing) {
        const status = await embed(embeddingModel).then(
          async (response) => {
            await response.text();
            return response.status;
          },
          (error: unknown) => String(error),
        );
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await Bun.sleep(5);
      }
    };
    const flows = Array.from({ length: 4 }, flow);
    for (let i = 0; i < 3; i++) {
      const text = withModel(`new-${i}`);
      // Editors either write in place or replace the file.
      if (i % 2 === 0) writeFileSync(path, text);
      else {
        writeFileSync(`${path}.tmp`, text);
        renameSync(`${path}.tmp`, path);
      }
      await untilServed(`new-${i}`);
    }
    flowing = false;
    await Promise.all(flows);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(20);
    // Log lines are buffered briefly before they are written.
    await until(() => count("config-reloaded") >= 3);
    expect(count("config-reloaded")).toBe(3);
  });

  test("an invalid change is reported with its location and not applied, and the next valid one is applied", async () => {
    writeFileSync(path, withModel("kept"));
    await untilServed("kept");
    const before = count("config-rejected");
    writeFileSync(path, withModel("kept").replace("kind: openai", "kind: opnai"));
    await until(() => count("config-rejected") > before);
    const line = gateway
      .output()
      .split("\n")
      .findLast((each) => each.includes("config-rejected"));
    const { level, reason } = JSON.parse(line!) as { level: string; reason: string };
    expect(level).toBe("error");
    expect(reason).toMatch(/vexel\.yaml:3:\d+ upstreams\[0\]\.kind: /);
    expect(reason).toContain("openai");
    expect((await embed("kept")).status).toBe(200);

    writeFileSync(path, "models: [");
    await until(() => count("config-rejected") > before + 1);
    expect((await embed("kept")).status).toBe(200);

    writeFileSync(path, withModel("taken-again"));
    await untilServed("taken-again");
    expect((await embed("kept")).status).toBe(404);
  });

  test("a key that is removed from the file is refused", async () => {
    const extra = "sk-extra-0123456789abcdef";
    const list = () =>
      fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${extra}` } });
    writeFileSync(path, `${configFor(fake.url)}  - { name: extra, key: ${extra} }\n`);
    const becomes = (status: number) => until(async () => (await list()).status === status);
    await becomes(200);
    writeFileSync(path, configFor(fake.url));
    await becomes(401);
  });
});
