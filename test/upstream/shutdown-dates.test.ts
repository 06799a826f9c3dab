/** `vexel check` and `GET /v1/models` say when a vendor shuts a model down. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createModels } from "../../server/api/models.ts";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { ResponseMemory } from "../../server/limits/response-memory.ts";
import { shutdownDateOf, shutdownRows } from "../../server/upstream/catalog/shutdowns/index.ts";
import { kinds } from "../../server/upstream/kinds.ts";

const yaml = `
upstreams:
  - { id: google, kind: vertex, project: p, location: us-central1, apiKey: k }
  - { id: own, kind: openai-compatible, baseUrl: "http://127.0.0.1:1/v1" }
keys:
  - { name: tester, key: sk-ends-0123456789abcdef }
models:
  - id: ending
    kind: embedding
    targets: [{ upstream: google, model: text-embedding-005 }]
  - id: lasting
    kind: embedding
    targets:
      - { upstream: google, model: text-embedding-005 }
      - { upstream: own, model: text-embedding-005 }
`;

const at = (now: string) => {
  const path = join(mkdtempSync(join(tmpdir(), "vexel-ends-")), "vexel.yaml");
  writeFileSync(path, yaml);
  const loaded = loadSnapshot({ path, namedBy: "VEXEL_CONFIG", env: {}, now: Date.parse(now) });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded;
};
const warningsAt = (now: string) => at(now).warnings.filter((text) => text.includes(" on 20"));

describe("`vexel check`", () => {
  test("warns of a model that is shut down within half a year, and of a model that was shut down", () => {
    expect(warningsAt("2026-08-01")).toEqual([]);
    const [before] = warningsAt("2026-11-16");
    expect(before).toContain(
      '"ending": "text-embedding-005" at "google" will be shut down on 2027-04-01',
    );
    const [after] = warningsAt("2027-04-01");
    expect(after).toContain("was shut down on 2027-04-01");
  });

  test("warns of each target that is shut down, even if another target goes on serving the model", () => {
    expect(warningsAt("2026-11-16").map((text) => text.split(":")[0])).toEqual([
      'the model "ending"',
      'the model "lasting"',
    ]);
  });
});

test("`GET /v1/models` gives the shutdown date of a model only if all its targets are shut down", async () => {
  const { snapshot } = at("2026-11-16");
  const { list } = createModels({
    snapshot: () => snapshot,
    startedAt: 0,
    now: () => 0,
    responseMemory: new ResponseMemory(1_000_000),
  });
  const incoming = {
    headers: new Headers({ authorization: "Bearer sk-ends-0123456789abcdef" }),
  } as unknown as Parameters<typeof list>[0];
  const { data } = JSON.parse(String((await list(incoming)).body)) as {
    data: { id: string; ends_on?: string; shutdown_date?: string }[];
  };
  expect(data.find(({ id }) => id === "ending")?.ends_on).toBe("2027-04-01");
  // OpenAI's own name for it (openai-node, resources/models.d.ts).
  expect(data.find(({ id }) => id === "ending")?.shutdown_date).toBe("2027-04-01");
  expect(data.find(({ id }) => id === "lasting")).not.toHaveProperty("shutdown_date");
  expect(data.find(({ id }) => id === "lasting")).not.toHaveProperty("ends_on");
});

describe("every shutdown date", () => {
  test.each(shutdownRows.map((row) => [`${row.kind} ${row.models[0]}`, row] as const))(
    "%s has a day, a source with a date and a kind that exists",
    (_, row) => {
      expect(row.on).toMatch(/^20\d\d-\d\d-\d\d$/);
      expect(new Date(row.on).toISOString()).toStartWith(row.on);
      expect(row.source).toMatch(/20\d\d-\d\d-\d\d/);
      expect(kinds.has(row.kind)).toBe(true);
      for (const model of row.models) expect(model).toBe(model.toLowerCase());
    },
  );

  test("is found under every name that a target may give the model", () => {
    expect(shutdownDateOf("us.amazon.nova-canvas-v1:0", "bedrock")?.on).toBe("2026-09-30");
    expect(shutdownDateOf("models/text-embedding-004", "gemini")?.on).toBe("2026-01-14");
    expect(shutdownDateOf("publishers/google/models/text-embedding-004", "vertex")?.on).toBe(
      "2027-04-01",
    );
    expect(shutdownDateOf("Cohere-Embed-V5-Pro", "azure-ai")?.on).toBe("2027-01-23");
    expect(shutdownDateOf("Cohere-embed-v3-english", "azure-ai")?.on).toBe("2027-02-15");
    expect(shutdownDateOf("embed-v-4-0", "azure-ai")?.on).toBe("2027-06-01");
    expect(shutdownDateOf("grok-imagine-image-pro", "xai")?.on).toBe("2026-05-15");
    expect(shutdownDateOf("gpt-image-1.5", "openai-compatible")).toBeUndefined();
  });
});
