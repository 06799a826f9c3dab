/**
 * The oracle of `vexel import litellm`: the real LiteLLM with random installations, and every key with every model on
 * both gateways. No pair is wider in Vexel, and none has other vectors. `LITELLM_SEEDS` are the seeds of a repetition.
 */
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type GatewayProcess, startProcess, temporaryFolder } from "../../harness.ts";
import { type Ended, vexel } from "../../process/process-fixture.ts";
import { isSkipped, testWith } from "../../programs.ts";
import { sharedPostgres } from "../../storage/postgres-server.ts";
import { until } from "../../until.ts";
import { installLitellm } from "./install.ts";
import { fileOf, type Installation, makeInstallation } from "./random-installation.ts";
import { type Litellm, masterKey, saltKey, startLitellm } from "./start-litellm.ts";
import { startVendor } from "./vendor.ts";

const seeds = process.env.LITELLM_SEEDS?.split(",").map(Number) ?? [
  Math.floor(Math.random() * 1e6),
  Math.floor(Math.random() * 1e6),
];
const keyCount = 30;
const vendor = startVendor();
afterAll(() => vendor.close());

interface Line {
  readonly subject: string;
  readonly field: string;
  readonly outcome: string;
}

interface Answer {
  readonly status: number;
  readonly vector: string;
}

const testWithPostgres = testWith("postgresql");
const minutes = 60_000;

describe.each(seeds)("LiteLLM with the random installation %d:", (seed) => {
  const folder = temporaryFolder();
  let litellm: Litellm;
  let gateway: GatewayProcess;
  let installation: Installation;
  let lines: readonly Line[] = [];

  const start = async (): Promise<void> => {
    await installLitellm();
    litellm = await startLitellm(await sharedPostgres(), fileOf(vendor.url));
    installation = await makeInstallation(litellm, vendor.url, seed, keyCount);
    gateway = await startProcess({ folder: folder.path, yaml: "builtInModels: false\n" });
  };
  if (!isSkipped(["postgresql"])) beforeAll(start, 20 * minutes);
  afterAll(async () => {
    gateway?.kill("SIGKILL");
    await gateway?.exited;
    await litellm?.close();
    folder[Symbol.dispose]();
  });

  const importWith = (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Ended> =>
    vexel(
      [
        "import",
        "litellm",
        "--config",
        litellm.configPath,
        "--database",
        litellm.database,
        ...args,
      ],
      {
        cwd: folder.path,
        env: { VEXEL_DATA: join(folder.path, "data"), LITELLM_SALT_KEY: saltKey, ...env },
      },
    );

  testWithPostgres(
    "keys are imported, and only if the restrictions of end users may be lost",
    async () => {
      const refused = JSON.parse((await importWith(["--json"])).out) as {
        counts: { keys: number };
      };
      expect(refused.counts.keys).toBe(0);
      const accepted = ["--accept", "end-users", "--accept", "member-budgets"];
      const applied = await importWith(["--apply", "--json", ...accepted]);
      expect(applied).toMatchObject({ code: 0, err: "" });
      ({ lines } = JSON.parse(applied.out) as { lines: readonly Line[] });
      // The only model that LiteLLM itself sends to another one.
      const models = lines.filter(
        ({ subject, outcome }) => outcome === "refused" && subject.startsWith("model"),
      );
      expect(models.map(({ subject }) => subject)).toEqual(['model "ada"']);
      const again = await importWith(["--apply", ...accepted]);
      expect(again.out).not.toContain("created");
    },
    5 * minutes,
  );

  testWithPostgres(
    "no key has more models than there, and no model other vectors",
    async () => {
      const imported = importedNames(lines, installation);
      expect(imported.length).toBeGreaterThan(3);
      const [first = ""] = imported;
      const text = installation.keys.get(first) ?? "";
      await until(async () => (await listOf(gateway.url, text)).status === 200);
      const counts = { pairs: 0, both: 0, narrower: 0 };
      const wrong: string[] = [];
      for (const [name, key] of installation.keys)
        for (const model of installation.names) {
          const [there, here] = await Promise.all([
            ask(litellm.url, key, model),
            ask(gateway.url, key, model),
          ]);
          counts.pairs += 1;
          const pair = `${name} with ${model}: ${there.status} there, ${here.status} here`;
          if (here.status === 200 && there.status !== 200) wrong.push(`wider: ${pair}`);
          if (here.status === 200 && there.status === 200) {
            counts.both += 1;
            if (here.vector !== there.vector) wrong.push(`other vectors: ${pair}`);
          }
          if (there.status === 200 && here.status !== 200) {
            counts.narrower += 1;
            if (imported.includes(name) && !isExplained(lines, name, model))
              wrong.push(`narrower without a line: ${pair}`);
          }
        }
      console.log(
        `seed ${seed}: ${counts.pairs} pairs, ${counts.both} allowed on both sides, ${counts.narrower} narrower, ${imported.length} of ${installation.keys.size} keys imported`,
      );
      expect(wrong).toEqual([]);
      expect(counts.both).toBeGreaterThan(counts.pairs / 20);
    },
    20 * minutes,
  );

  testWithPostgres(
    "--verify finds no wider key without a request to a vendor, and equal vectors with --paid",
    async () => {
      const [, ...tried] = importedNames(lines, installation);
      const path = join(folder.path, "keys.txt");
      writeFileSync(path, tried.map((name) => installation.keys.get(name)).join("\n"));
      const accepted = ["--accept", "end-users", "--accept", "member-budgets"];
      const verify = ["--verify", litellm.url, "--keys", path, ...accepted];
      const port = { PORT: new URL(gateway.url).port, LITELLM_MASTER_KEY: masterKey };
      const before = vendor.requests();
      const free = await importWith(verify, port);
      // Of a key that may not see the list of models, the image models are not compared.
      expect(free.out).toMatch(/^\d+ keys tried, 1 read, \d+ not compared, 0 wider/);
      expect(free.code).toBe(0);
      expect(vendor.requests()).toBe(before);
      const paid = await importWith([...verify, "--paid", "--json"], port);
      const { equalVectors, otherVectors } = JSON.parse(paid.out) as Record<string, string[]>;
      expect(otherVectors).toEqual([]);
      expect(equalVectors?.length).toBeGreaterThan(0);
    },
    5 * minutes,
  );

  testWithPostgres(
    "a key that is blocked or lowered there follows with --sync",
    async () => {
      const [blocked = "", lowered = ""] = importedNames(lines, installation);
      await litellm.call("/key/block", { key: installation.keys.get(blocked) });
      await litellm.call("/key/update", { key: installation.keys.get(lowered), rpm_limit: 1 });
      const { out, err } = await importWith(["--sync", "--apply", "--revoke", "1"]);
      expect(err).toBe("");
      expect(out).toContain(`key "${blocked}"`);
      expect(out).toMatch(new RegExp(`lower +key "${lowered}": limits.requestsPerMinute`));
      const text = installation.keys.get(blocked) ?? "";
      await until(async () => (await listOf(gateway.url, text)).status === 401);
    },
    5 * minutes,
  );
});

/** The keys that are not refused. */
const importedNames = (lines: readonly Line[], { keys }: Installation): readonly string[] => {
  const refused = new Set(
    lines.filter(({ outcome }) => outcome === "refused").map(({ subject }) => subject),
  );
  return [...keys.keys()].filter((name) => !refused.has(`key ${JSON.stringify(name)}`));
};

/** The model is not imported, or left out of the key, or only an access group beside its team permits it. */
const isExplained = (lines: readonly Line[], key: string, model: string): boolean =>
  lines.some(
    ({ subject, field, outcome }) =>
      (outcome === "left out" && subject === `key ${JSON.stringify(key)}` && field === model) ||
      (outcome === "refused" && subject.startsWith(`model ${JSON.stringify(model)}`)) ||
      (outcome === "approximated" &&
        subject === `key ${JSON.stringify(key)}` &&
        field === "access_group_ids"),
  );

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const listOf = (url: string, key: string): Promise<Response> =>
  fetch(`${url}/v1/models`, { headers: bearer(key) });

/** A key of LiteLLM may be allowed one of two paths: with and without `/v1`. */
async function ask(url: string, key: string, model: string): Promise<Answer> {
  const answer = await askAt(`${url}/v1`, key, model);
  return answer.status === 403 ? askAt(url, key, model) : answer;
}

/** Both gateways get their images from a fake vendor. */
async function askAt(url: string, key: string, model: string): Promise<Answer> {
  const isImage = model === "art";
  const response = await fetch(`${url}/${isImage ? "images/generations" : "embeddings"}`, {
    method: "POST",
    headers: { ...bearer(key), "content-type": "application/json" },
    body: JSON.stringify(
      isImage ? { model, prompt: "a" } : { model, input: "a text", encoding_format: "float" },
    ),
  });
  const text = await response.text();
  if (response.status !== 200 || isImage) return { status: response.status, vector: "" };
  const { data } = JSON.parse(text) as { data: readonly { embedding: readonly number[] }[] };
  const vector = data[0]?.embedding.map((value) => Math.fround(value)).join(" ") ?? "";
  return { status: 200, vector };
}
