/** Default models in the configuration of a gateway process: checked, used and reloaded. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readLedger, startProcess, temporaryFolder } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";

test("defaults in the file may name a built-in model, are shown by vexel check, and are reloaded", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "vexel.yaml");
  const yaml = (image: string) => `
keys: [{ name: gallery, key: sk-gallery-000000000, defaults: { embedding: all-minilm-l6-v2 } }]
models:
- { id: other-sketch, kind: image, targets: [{ upstream: vexel-sketch, model: vexel-sketch }] }
defaults: { image: ${image} }
`;
  const gateway = await startProcess({ folder: folder.path, yaml: yaml("vexel-sketch") });
  try {
    const { out: shown } = await vexel(["check", path], { cwd: folder.path });
    expect(shown).toContain("default image model vexel-sketch\n");
    expect(shown).toContain('key "gallery": default embedding model all-minilm-l6-v2\n');
    const generate = async () => {
      const body = { prompt: "a red boat", size: "256x256" };
      const response = await gateway.post("/v1/images/generations", body, {
        authorization: "Bearer sk-gallery-000000000",
      });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    };
    await generate();
    writeFileSync(path, yaml("other-sketch"));
    await until(() => gateway.output().includes("config-reloaded"));
    expect(gateway.output()).toContain("1 default changed");
    await generate();
    const models = readLedger(join(folder.path, "data")).map(({ model }) => model);
    expect(models).toEqual(["vexel-sketch", "other-sketch"]);
  } finally {
    gateway.kill("SIGTERM");
    await gateway.exited;
  }
});
