/** Default models in the configuration of a gateway: checked, used and reloaded. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { startEntityGateway } from "../admin/entities-fixture.ts";
import { post, readLedger } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";

test("defaults in the file may name a built-in model, are shown by vexel check, and are reloaded", async () => {
  const yaml = (image: string) => `
keys: [{ name: gallery, key: sk-gallery-000000000, defaults: { embedding: all-minilm-l6-v2 } }]
models:
- { id: other-sketch, kind: image, targets: [{ upstream: vexel-sketch, model: vexel-sketch }] }
defaults: { image: ${image} }
`;
  const gateway = await startEntityGateway({ yaml: yaml("vexel-sketch") });
  try {
    const { out: shown } = await vexel(["check", gateway.yamlPath], { cwd: gateway.folder });
    expect(shown).toContain("default image model vexel-sketch\n");
    expect(shown).toContain('key "gallery": default embedding model all-minilm-l6-v2\n');
    const generate = async () => {
      const body = { prompt: "a red boat", size: "256x256" };
      const headers = { authorization: "Bearer sk-gallery-000000000" };
      const response = await post(`${gateway.baseURL}/images/generations`, body, headers);
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    };
    await generate();
    writeFileSync(gateway.yamlPath, yaml("other-sketch"));
    await until(() => gateway.log().includes("config-reloaded"));
    expect(gateway.log()).toContain("1 default changed");
    await generate();
    const models = readLedger(gateway.folder).map(({ model }) => model);
    expect(models).toEqual(["vexel-sketch", "other-sketch"]);
  } finally {
    await gateway.close();
  }
});
