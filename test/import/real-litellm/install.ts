/**
 * Installs LiteLLM from PyPI and Prisma from npm, at pinned versions, in a folder of this test: `VEXEL_TEST_LITELLM`, or
 * one in node_modules/.cache. The folder survives, so only the first run installs.
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../harness.ts";

const folder = process.env.VEXEL_TEST_LITELLM ?? join(root, "node_modules/.cache/vexel-litellm");

/** The newest LiteLLM whose packages the registry has. It asks for newer root certificates than there are. */
const pythonPackages = [
  "litellm[proxy]==1.108.7",
  "litellm-proxy-extras==0.4.110",
  "prisma==0.15.0",
];
const overrides = "certifi==2026.10.18\n";
const npmPackages = [
  "prisma@7.10.0",
  "@prisma/client-engine-runtime@7.10.0",
  "@prisma/adapter-pg@7.10.0",
];
const versions = [...pythonPackages, ...npmPackages].join("\n");

const inFolder = (...path: readonly string[]): string => join(folder, ...path);
const engine = inFolder("prisma", "engine.mjs");
export const litellmProgram = inFolder("litellm", "bin", "litellm");
export const litellmMigrationsFolder = async (): Promise<string> => {
  const [path] = new Bun.Glob(
    "litellm/lib/*/site-packages/litellm_proxy_extras/migrations",
  ).scanSync({
    cwd: folder,
    onlyFiles: false,
  });
  return inFolder(path ?? "");
};

/** Nothing is downloaded while LiteLLM runs. */
export const litellmEnvironment: Readonly<Record<string, string>> = {
  PATH: `${inFolder("litellm", "bin")}:${process.env.PATH}`,
  HOME: folder,
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
  PRISMA_BINARY_CACHE_DIR: inFolder("prisma-cli"),
  PRISMA_QUERY_ENGINE_BINARY: engine,
  PRISMA_SCHEMA_ENGINE_BINARY: engine,
  UV_CACHE_DIR: inFolder("uv-cache"),
};

async function run(command: readonly string[], cwd = folder): Promise<void> {
  const child = Bun.spawn([...command], {
    env: { ...process.env, ...litellmEnvironment, HOME: process.env.HOME ?? folder },
    cwd,
    stdout: "ignore",
    stderr: "pipe",
  });
  const errors = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`failed: ${command.join(" ")}\n${errors}`);
}

/** Throws if something cannot be installed. */
export async function installLitellm(): Promise<void> {
  const done = inFolder("installed");
  const isInstalled = existsSync(done) && (await Bun.file(done).text()) === versions;
  if (!isInstalled) await install(done);
  // The file of this test, also after a change of it.
  copyFileSync(join(import.meta.dir, "prisma-engine.mjs"), engine);
  chmodSync(engine, 0o755);
}

async function install(done: string): Promise<void> {
  mkdirSync(inFolder("prisma"), { recursive: true });
  writeFileSync(inFolder("prisma", "package.json"), '{ "private": true }');
  await run(["npm", "install", "--no-audit", "--no-fund", ...npmPackages], inFolder("prisma"));
  copyFileSync(join(import.meta.dir, "prisma-engine.mjs"), engine);
  chmodSync(engine, 0o755);
  writeFileSync(inFolder("overrides.txt"), overrides);
  await run(["python3", "-m", "venv", "--clear", "tools"]);
  await run([inFolder("tools/bin/python"), "-m", "pip", "install", "--quiet", "uv==0.13.8"]);
  const uv = inFolder("tools/bin/uv");
  await run([uv, "venv", "--quiet", "--clear", "--python", "python3", "litellm"]);
  const python = inFolder("litellm/bin/python");
  const flags = ["--quiet", "--overrides", inFolder("overrides.txt"), "--python", python];
  await run([uv, "pip", "install", ...flags, ...pythonPackages]);
  const [schema] = new Bun.Glob("litellm/lib/*/site-packages/litellm/proxy/schema.prisma").scanSync(
    {
      cwd: folder,
    },
  );
  await run([inFolder("litellm/bin/prisma"), "generate", "--schema", inFolder(schema ?? "")]);
  writeFileSync(done, versions);
}
