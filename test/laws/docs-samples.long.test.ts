/**
 * Every sample of README.md and docs/*.md works as printed. Shell commands, programs, bodies of requests for built-in
 * models, the nginx configuration and a `vexel.yaml` that a page tells its reader to write run in the order of the
 * page, in one shell, on a fresh gateway; an undefined variable fails. Settings are read as the gateway reads them, and
 * promtool reads what is for Prometheus. Other laws load every other `vexel.yaml`, validate JSON and run SQL.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sniffImage } from "../../server/lib/sniff-image.ts";
import { readSettings } from "../../server/settings.ts";
import { temporaryFolder } from "../harness.ts";
import { createImage } from "../image-vendors/test-images.ts";
import { promtoolErrors } from "../observe/promtool.ts";
import { type Program, testIf, testWith } from "../programs.ts";
import { withPythonSamples as withPython } from "../python.ts";
import { blocksOf } from "./markdown.ts";
import { mayRunSamples, type ReaderFiles, runInSandbox } from "./sample-sandbox.ts";
import { filledIn, isSettings, outputByLine, scriptOf } from "./sample-script.ts";
import { filesBelow } from "./tree.ts";

const pages = [
  "README.md",
  ...filesBelow("docs").filter((path) => /^docs\/[\w-]+\.md$/.test(path)),
];
const image = await createImage("a boat", { width: 512, height: 512, kind: "png" });

/** Files of the reader, which a page names and does not make. */
const readerFiles: Readonly<Record<string, ReaderFiles>> = {
  "docs/images.md": { "boat.png": image },
  "docs/api.md": { "otter.png": image },
  "docs/migrate.md": {
    "config.yaml":
      "model_list: [{ model_name: search, litellm_params: { model: openai/text-embedding-3-small, api_key: sk-0 } }]\n",
  },
  "docs/operations.md": { "new.yaml": "builtInModels: true\n" },
};

/** What the programs of a page print. */
const prints: Readonly<Record<string, RegExp>> = {
  "README.md": /^2 vectors of 384$/,
  "docs/images.md": /^dragon\.png has \d{5,7} bytes$/,
  "docs/jobs.md": /^batch_\w+ is completed\n(?:text-[012] has 384 numbers\n?){3}$/,
  "docs/quickstart.md": /^a small ship 0\.[4-9]\d*\ntax law -?0\.[0-3]\d*$/,
};

describe("every sample of the documents", () => {
  test("is in a language that a test reads", () => {
    const here = ["sh", "python", "js", "nginx"];
    const elsewhere = ["yaml", "sql", "csv", "json", "json request", "json response"];
    const noSample = ["", "text", "mermaid"];
    const known = [...here, ...elsewhere, ...noSample];
    const odd = pages.flatMap((page) =>
      blocksOf(page)
        .filter(({ info }) => !known.includes(info))
        .map(({ info, line }) => `${page}:${line}: ${info}`),
    );
    expect(odd).toEqual([]);
  });

  test("has no placeholder that the test does not know", () => {
    const unknown = pages.flatMap((page) =>
      blocksOf(page)
        .filter(({ info, text }) => info === "sh" && filledIn(text).includes("…"))
        .map(({ line }) => `${page}:${line}`),
    );
    expect(unknown).toEqual([]);
  });
});

describe("the samples run as printed, in order, on a fresh gateway:", () => {
  const withSamples = pages.filter((page) =>
    blocksOf(page).some((block) => block.info === "sh" && !isSettings(block)),
  );
  const runs = new Map<string, Promise<string>>();
  /** Two pages at a time: a page waits for its gateway half of the time. */
  function startRuns(): void {
    const lanes: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];
    for (const page of withSamples) {
      const [lane] = lanes.splice(0, 1);
      const run = Promise.resolve(lane).then(() => runPage(page));
      runs.set(page, run);
      lanes.push(run.catch(() => undefined));
    }
  }

  for (const page of withSamples) {
    const needed: Program[] = ["curl", "ip", "openssl"];
    if (blocksOf(page).some(({ info }) => info === "nginx")) needed.push("nginx");
    testIf(mayRunSamples, ...needed)(
      page,
      async () => {
        if (runs.size === 0) startRuns();
        expect(await runs.get(page)).toBe("");
      },
      120_000,
    );
  }

  // Without Python and its package, the samples of the other languages still run.
  testIf(withPython)("Python programs are among them", () => {
    const programs = pages.flatMap((page) => scriptOf(page, { withPython }).programs);
    const run = programs.filter(({ name, runAt }) => name.endsWith(".py") && runAt !== undefined);
    expect(run.map(({ name }) => name)).toEqual([
      "boat.py",
      "dragon.py",
      "batch.py",
      "lighthouse.py",
    ]);
  });
});

/** What went wrong, or an empty text. */
async function runPage(page: string): Promise<string> {
  using folder = temporaryFolder();
  const { text, programs, requests } = scriptOf(page, { withPython });
  for (const program of programs) {
    mkdirSync(join(folder.path, program.folder));
    for (const [name, content] of Object.entries(readerFiles[page] ?? {}))
      writeFileSync(join(folder.path, program.folder, name), content);
    writeFileSync(join(folder.path, program.folder, program.name), program.text);
  }
  const { exitCode, output } = await runInSandbox({
    folder: folder.path,
    script: text,
    files: readerFiles[page] ?? {},
  });
  if (exitCode !== 0) return `exit code ${exitCode}:\n${output.slice(-5_000)}`;
  const responses = [...output.matchAll(/"data":\s*\[\s*\{/g)].length;
  if (responses < requests) return `${responses} responses to ${requests} requests:\n${output}`;
  const wrong = programs
    .filter(({ runAt }) => runAt !== undefined)
    .filter(({ runAt = 0, folder: name, image }) => {
      const printed = outputByLine(output).get(runAt)?.trim() ?? "";
      const isWritten =
        image === undefined ||
        sniffImage(readFileSync(join(folder.path, name, image))) === "image/png";
      return !prints[page]?.test(printed) || !isWritten;
    });
  return wrong.map(({ name }) => `${name} printed or wrote something else:\n${output}`).join("\n");
}

describe("samples of settings are accepted, together with those above them on the page:", () => {
  for (const page of pages.filter((page) => blocksOf(page).some(isSettings)))
    test(page, () => {
      using folder = temporaryFolder();
      // A file of the reader.
      const secret = join(folder.path, "secret");
      writeFileSync(secret, "a-secret-of-the-issuer\n");
      let env: Record<string, string> = {};
      for (const { text } of blocksOf(page).filter(isSettings)) {
        env = { ...env, ...variablesOf(filledIn(text).replace(/(?<=_FILE=)\S+/g, secret)) };
        expect(() => readSettings(env)).not.toThrow();
      }
    });
});

/** The variables as a shell reads them. */
function variablesOf(text: string): Record<string, string> {
  const script = `set -a\n${text}\nexec env -0`;
  const { stdout } = Bun.spawnSync(["env", "-i", "bash", "-euc", script]);
  const lines = stdout.toString().split("\0");
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z][A-Z_]+)=(.*)$/s.exec(line) ?? [];
      const isOfShell = name === undefined || name === "PWD" || name === "SHLVL";
      return isOfShell || value === undefined ? [] : [[name, value]];
    }),
  );
}

testWith("promtool")("docs/observability.md: Prometheus accepts the scrape configuration", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "prometheus.yml");
  const [block] = blocksOf("docs/observability.md").filter(({ text }) =>
    text.startsWith("scrape_configs:"),
  );
  writeFileSync(file, block?.text ?? "");
  expect(promtoolErrors(["check", "config", file])).toBe("");
});
