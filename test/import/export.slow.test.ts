/** `vexel export`: whoever leaves, or moves to another folder, loses no key, and no secret is written. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";

const fake = startFake({ key: "sk-vendor-secret-0123" });
const [old, empty, none] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
const running: GatewayProcess[] = [];
afterAll(async () => {
  for (const gateway of running) await gateway.close();
  fake.close();
  for (const folder of [old, empty, none]) folder[Symbol.dispose]();
});

const fileKey = "sk-of-the-file-0123456789";
const keys = new Map([["of file", fileKey]]);
const models = ["small", "stored", "art"];
const yaml = `
builtInModels: false
upstreams:
  - { id: vendor, kind: openai-compatible, baseUrl: "${fake.url}", apiKey: sk-vendor-secret-0123 }
  - { id: again, kind: openai-compatible, baseUrl: "${fake.url}", apiKey: "\${VENDOR_KEY}" }
models:
  - { id: small, kind: embedding, targets: [{ upstream: vendor, model: text-embedding-3-small }] }
  - { id: art, kind: image, targets: [{ upstream: again, model: gpt-image-1 }] }
keys:
  - { name: of file, key: ${fileKey}, models: [small, "art*"], project: team }
projects:
  - { name: team, limits: { requestsPerMinute: 500 } }
`;
const env = { VENDOR_KEY: "sk-vendor-secret-0123", VEXEL_SECRET: "a-secret-of-the-gateway" };

const run = (folder: string, args: readonly string[], more = {}): Promise<Ended> =>
  vexel(args, { cwd: folder, env: { VEXEL_DATA: join(folder, "data"), ...env, ...more } });

async function createKey(name: string, ...args: readonly string[]): Promise<void> {
  const { code, out, err } = await run(old.path, ["keys", "create", "--name", name, ...args]);
  if (code !== 0) throw new Error(err);
  keys.set(name, out.trim());
}

beforeAll(async () => {
  writeFileSync(join(old.path, "vexel.yaml"), yaml);
  running.push(await startProcess({ folder: old.path, env }));
  const value = join(old.path, "value.json");
  const put = async (kind: string, id: string, entity: unknown): Promise<void> => {
    writeFileSync(value, JSON.stringify(entity));
    expect(await run(old.path, ["config", "put", kind, id, "--file", value])).toMatchObject({
      code: 0,
    });
  };
  await put("upstream", "stored-one", {
    kind: "openai-compatible",
    baseUrl: fake.url,
    apiKey: "sk-vendor-secret-0123",
    headers: { "x-team": "hidden-header" },
  });
  const target = { upstream: "stored-one", model: "text-embedding-3-large" };
  await put("model", "stored", { kind: "embedding", targets: [target] });
  await put("project", "stored team", { budget: { total: 5, unknownPrice: "allow" } });
  await createKey("all");
  await createKey('one, quoted "name"', "--models", "stored", "--project", "stored team");
  await createKey(
    "limited",
    "--models",
    "small,art",
    "--requests-per-minute",
    "77",
    "--budget-day",
    "2.5",
  );
  await createKey("late", "--expires", "2999-01-01", "--default-embedding", "small", "--show-cost");
  await createKey("revoked");
  await run(old.path, ["keys", "revoke", "revoked"]);
});

describe("an export", () => {
  const csv = join(old.path, "keys.csv");
  const config = join(old.path, "exported.yaml");

  test("has no secret, and names the variables that stand for them", async () => {
    const { code, out } = await run(old.path, ["export", "--keys", csv, "--yaml", config]);
    expect(code).toBe(0);
    expect(out).toContain("Wrote 5 keys");
    const variables = [
      "UPSTREAM_STORED_ONE_APIKEY",
      "UPSTREAM_STORED_ONE_HEADERS_X_TEAM",
      "UPSTREAM_VENDOR_APIKEY",
    ];
    expect(out.match(/^ {2}\w+$/gm)?.map((line) => line.trim())).toEqual(variables);
    const written = readFileSync(csv, "utf8") + readFileSync(config, "utf8") + out;
    for (const secret of ["sk-vendor", "hidden-header", ...keys.values()])
      expect(written).not.toContain(secret);
    expect(written).toMatch(/\$\{VENDOR_KEY\}/);
    expect(written).not.toContain(secretHash(keys.get("revoked") ?? ""));
    expect(statSync(csv).mode & 0o077).toBe(0);
  });

  test("does not replace a file without --force", async () => {
    const { code, err } = await run(old.path, ["export", "--keys", csv]);
    expect(code).toBe(2);
    expect(err).toContain("--force replaces it");
    expect((await run(old.path, ["export", "--keys", csv, "--force"])).code).toBe(0);
  });

  test("gives an empty gateway the same keys: every key has the same models there", async () => {
    const secrets = {
      UPSTREAM_STORED_ONE_APIKEY: "sk-vendor-secret-0123",
      UPSTREAM_STORED_ONE_HEADERS_X_TEAM: "hidden-header",
      UPSTREAM_VENDOR_APIKEY: "sk-vendor-secret-0123",
    };
    writeFileSync(join(empty.path, "vexel.yaml"), readFileSync(config));
    const imported = await run(empty.path, ["import", "csv", "--file", csv, "--apply"], secrets);
    expect(imported).toMatchObject({ code: 0, err: "" });
    expect(imported.out).toContain("5 keys created");
    running.push(await startProcess({ folder: empty.path, env: { ...env, ...secrets } }));
    const [before, after] = running.map(({ url }) => url);
    const statuses = async (url = ""): Promise<unknown> =>
      Promise.all(
        [...keys].flatMap(([name, key]) =>
          models.map(async (model) => [name, model, await ask(url, key, model)]),
        ),
      );
    expect(await statuses(after)).toEqual(await statuses(before));
    const settings = async (folder: string) =>
      (JSON.parse((await run(folder, ["keys", "list", "--json"])).out) as Record<string, unknown>[])
        .filter(({ name }) => name !== "of file" && name !== "revoked")
        .map(({ id, createdAt, version, imported: _, ...rest }) => rest)
        .toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
    expect(await settings(empty.path)).toEqual(await settings(old.path));
  });
});

async function ask(url: string, key: string, model: string): Promise<number> {
  const isImage = model === "art";
  const response = await fetch(`${url}/v1/${isImage ? "images/generations" : "embeddings"}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(isImage ? { model, prompt: "a" } : { model, input: "a" }),
  });
  await response.text();
  return response.status;
}

describe("a CSV of keys", () => {
  const csv = (text: string): string => {
    const path = join(none.path, "other.csv");
    writeFileSync(path, text);
    return path;
  };
  const read = (text: string): Promise<Ended> =>
    run(none.path, ["import", "csv", "--file", csv(text), "--apply"]);

  test.each([
    [
      "an unknown column",
      "name,key,models,request_per_minute\na,b,c,1",
      "did you mean requests_per_minute",
    ],
    ["no column for the models", "name,key\na,b", 'no column "models"'],
    ["a short key", "name,key,models\na,short,*", "row 1: key must be a key of at least 16"],
    ["a key without models", `name,key,models\na,${"k".repeat(20)},`, "row 1: models"],
    [
      "a limit that is no number",
      `name,key,models,concurrent\na,${"k".repeat(20)},*,many`,
      "row 1: concurrent",
    ],
    [
      "one key twice",
      `name,key,models\na,${"k".repeat(20)},*\nb,${secretHash("k".repeat(20))},*`,
      "row 2: its key is that of row 1",
    ],
    ["no rows", "name,key,models\n", "has no keys"],
  ])("with %s is refused in one sentence, and nothing is written", async (_, text, reason) => {
    const { code, err } = await read(text);
    expect(code).toBe(2);
    expect(err).toContain(reason);
    expect(err.trim().split("\n")).toHaveLength(1);
    const listed = await run(none.path, ["keys", "list"]);
    expect(listed.code).not.toBe(0);
  });

  test("whose project does not exist is refused for this key alone", async () => {
    const { code, out } = await read(
      `name,key,project,models\na,${"k".repeat(20)},nowhere,*\nb,${"l".repeat(20)},,small`,
    );
    expect(code).toBe(1);
    expect(out).toContain('its project "nowhere" does not exist');
    expect(out).toContain("1 key created");
  });
});
