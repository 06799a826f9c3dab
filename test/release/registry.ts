/**
 * A registry of npm packages on this machine (Verdaccio), which has the packages of npm's registry as well, and the
 * program pnpm. The first use installs both, at pinned versions.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../until.ts";
import { installPackages } from "./install-packages.ts";

/** The path of `pnpm` or `verdaccio`. */
function installedProgram(name: "pnpm" | "verdaccio"): string {
  const folder = installPackages("vexel-registry", {
    // The newest Verdaccio needs Node 22.
    dependencies: { pnpm: "10.34.9", verdaccio: "6.1.6" },
    // A dependency of Verdaccio names a tag that not every mirror of the registry has.
    overrides: { "node-fetch": "2.7.0" },
  });
  return join(folder, "node_modules/.bin", name);
}

export const pnpm = (): string => installedProgram("pnpm");

export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** Settings for npm and pnpm: a file that names the registry, with a token that it accepts. */
  readonly npmrc: string;
}

export async function startRegistry(data: string): Promise<Registry> {
  mkdirSync(data);
  const config = join(data, "config.yaml");
  writeFileSync(
    config,
    `storage: ${join(data, "storage")}
uplinks: { npmjs: { url: "https://registry.npmjs.org/" } }
packages:
  vexel: { access: $all, publish: $all }
  "**": { access: $all, proxy: npmjs }
log: { type: stdout, format: json, level: warn }
max_body_size: 100mb
`,
  );
  const url = `http://127.0.0.1:${freePort()}`;
  const listen = url.slice("http://".length);
  const program = installedProgram("verdaccio");
  const child = Bun.spawn([program, "--config", config, "--listen", listen], {
    cwd: data,
    stdout: Bun.file(join(data, "log")),
    stderr: Bun.file(join(data, "errors")),
  });
  await until(async () => (await fetch(`${url}/-/ping`).catch(() => undefined))?.ok === true);
  const npmrc = join(data, "npmrc");
  writeFileSync(npmrc, `registry=${url}/\n//${listen}/:_authToken=any\n`);
  return {
    url,
    npmrc,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** Verdaccio does not print which port it took. */
function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
