/** The package can be published: a registry accepts it, and npm and pnpm install a gateway from there. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json";
import { root, temporaryFolder } from "../harness.ts";
import { expectBuiltInModels, runCommand, startGateway } from "./installed.ts";
import { pnpm, type Registry, startRegistry } from "./registry.ts";

const folder = temporaryFolder();
let registry: Registry;

beforeAll(async () => {
  registry = await startRegistry(join(folder.path, "registry"));
  runCommand(["npm", "publish", "--userconfig", registry.npmrc, "--registry", registry.url], root);
}, 300_000);
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** A new project whose package manager uses the registry. */
function createProject(name: string): string {
  const project = join(folder.path, name);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{"private":true}');
  writeFileSync(join(project, ".npmrc"), readFileSync(registry.npmrc));
  return project;
}

test("the manifest says where the sources are and where to report a bug", async () => {
  const response = await fetch(`${registry.url}/vexel/${manifest.version}`);
  const published = (await response.json()) as typeof manifest;
  expect(published.repository.url).toStartWith("git+https://");
  expect(published.bugs).toBeDefined();
  expect(
    Object.values(published.dependencies).filter((each) => /^(?:file|link|workspace):/.test(each)),
  ).toEqual([]);
});

test("npm installs it, and it serves the built-in models", async () => {
  const project = createProject("with-npm");
  runCommand(["npm", "install", "--no-audit", "--no-fund", "vexel"], project);
  await using gateway = await startGateway([join(project, "node_modules/.bin/vexel")]);
  await expectBuiltInModels(gateway);
}, 300_000);

test("pnpm, which runs no scripts of packages, installs it, and it serves the built-in models", async () => {
  const project = createProject("with-pnpm");
  const store = `--store-dir=${join(folder.path, "pnpm-store")}`;
  runCommand([pnpm(), "add", store, "vexel"], project);
  await using gateway = await startGateway([join(project, "node_modules/.bin/vexel")]);
  await expectBuiltInModels(gateway);
}, 300_000);
