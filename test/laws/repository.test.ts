/** Laws about the repository itself: which way imports point, which packages are pinned, where side effects are. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import consoleManifest from "../../console/package.json";
import manifest from "../../package.json";
import lock from "../../package-lock.json";
import sketchManifest from "../../packages/sketch/package.json";
import siteManifest from "../../site/package.json";
import siteLock from "../../site/package-lock.json";
import { root } from "../harness.ts";
import { codeOf, filesBelow, foldersIn, sources, tests, textOf, uncommented } from "./tree.ts";

/** The packages of this repository in the lock file. */
const workspacePath = /^(?:$|packages\/|console$)/;

/** Which folders of server/ a folder may import, in the order of the layers. Every folder may import `contract`. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  "temp-storage": ["lib"],
  storage: ["lib", "temp-storage"],
  upstream: ["lib", "temp-storage"],
  workers: ["lib", "temp-storage", "upstream"],
  // The configuration refuses what no adapter could serve, so it must know the kinds of upstream.
  config: ["lib", "storage", "upstream"],
  ledger: ["lib", "storage"],
  files: ["lib", "temp-storage", "storage"],
  request: ["lib", "temp-storage", "upstream", "config", "ledger"],
  attribution: ["lib", "upstream", "config", "request"],
  observe: ["lib", "upstream", "request"],
  auth: ["lib", "storage", "config", "request"],
  limits: ["lib", "storage", "upstream", "config", "ledger", "request"],
  routing: ["lib", "upstream", "config", "request", "limits"],
  embeddings: ["lib", "storage", "upstream", "config", "request", "limits"],
  images: [
    "lib",
    "temp-storage",
    "storage",
    "upstream",
    "workers",
    "config",
    "request",
    "limits",
    "routing",
  ],
  budgets: ["lib", "storage", "upstream", "ledger", "request", "limits"],
  idempotency: ["lib", "temp-storage", "storage", "upstream", "request", "images"],
  pipeline: [
    "lib",
    "temp-storage",
    "upstream",
    "config",
    "ledger",
    "request",
    "attribution",
    "auth",
    "limits",
    "routing",
    "embeddings",
    "images",
    "budgets",
    "idempotency",
  ],
  events: ["lib", "storage", "upstream", "config"],
  // The transport knows no models.
  http: ["lib", "temp-storage", "request"],
  jobs: [
    "lib",
    "storage",
    "upstream",
    "request",
    "auth",
    "budgets",
    "idempotency",
    "pipeline",
    "http",
  ],
  batches: [
    "lib",
    "storage",
    "upstream",
    "config",
    "files",
    "request",
    "embeddings",
    "images",
    "pipeline",
    "jobs",
  ],
  console: ["lib", "request", "http"],
  admin: [
    "lib",
    "storage",
    "upstream",
    "config",
    "files",
    "request",
    "auth",
    "limits",
    "budgets",
    "events",
    "http",
    "jobs",
    "batches",
  ],
  api: [
    "lib",
    "upstream",
    "config",
    "files",
    "request",
    "auth",
    "limits",
    "embeddings",
    "images",
    "idempotency",
    "pipeline",
    "events",
    "http",
    "jobs",
    "batches",
  ],
  process: ["lib", "config", "observe", "admin"],
};

/** Folders that construct the others, and may import all of them. */
const composition: readonly string[] = ["wiring"];

/** The relative imports of a file, as paths from the root. Type imports count: they are dependencies too. */
function importsOf(file: string, text = textOf(file)): string[] {
  const found = [
    ...text.matchAll(/^(?:import|export)\b[^;"]*?\bfrom\s*"(\.[^"]+)"/gm),
    ...text.matchAll(/^import\s*"(\.[^"]+)"/gm),
    ...text.matchAll(/\b(?:import|require)\(\s*"(\.[^"]+)"/g),
    ...text.matchAll(/\bnew URL\(\s*"(\.[^"]+)"/g),
  ];
  return found.map(([, path]) => posix.join(posix.dirname(file), path ?? ""));
}

/**
 * `pipeline` for server/pipeline/stages.ts, `server` for server/app.ts, `cli` for cli/keys.ts, `packages/sketch` for
 * packages/sketch/src/draw.ts.
 */
function homeOf(path: string): string {
  const [top = "", second = "", ...deeper] = path.split("/");
  if (top === "packages") return `${top}/${second}`;
  return top === "server" && deeper.length > 0 ? second : top;
}

function isAllowed(from: string, to: string): boolean {
  if (from === to) return true;
  // A package imports nothing of the repository, and is imported by its name in package.json only.
  if (from.startsWith("packages/") || to.startsWith("packages/")) return false;
  if (to === "contract") return true;
  // The files that construct the server may import every folder.
  const isInside = to in mayImport || composition.includes(to);
  if (from === "server") return isInside || to === "package.json";
  if (from === "cli" || composition.includes(from)) {
    return isInside || to === "server" || to === "package.json";
  }
  // Databases record the version of the program that has migrated them.
  if (from === "storage" && to === "package.json") return true;
  return mayImport[from]?.includes(to) ?? false;
}

describe("imports point one way", () => {
  const held = sources().filter((file) => /^(server|cli|contract|packages)\//.test(file));

  test("every folder of server/ is in the table", () => {
    expect(foldersIn("server")).toEqual([...Object.keys(mayImport), ...composition].sort());
  });

  test("no file imports a folder that the table does not allow", () => {
    const wrong = held.flatMap((file) =>
      importsOf(file)
        .filter((away) => !isAllowed(homeOf(file), homeOf(away)))
        .map((away) => `${file} may not import ${away}`),
    );
    expect(wrong).toEqual([]);
  });

  test("every import that the table allows is used", () => {
    const used = new Set(
      held.flatMap((file) => importsOf(file).map((away) => `${homeOf(file)} -> ${homeOf(away)}`)),
    );
    const unused = Object.entries(mayImport)
      .flatMap(([from, folders]) => folders.map((to) => `${from} -> ${to}`))
      .filter((arrow) => !used.has(arrow));
    expect(unused).toEqual([]);
  });

  /** Each folder, or file, and the only file of it, or before it, that other files import. */
  const interfaces: Readonly<Record<string, string>> = {
    "server/lib/vector-codec/": "server/lib/vector-codec/index.ts",
    "server/http/server/": "server/http/server/http-server.ts",
    "server/upstream/transport/": "server/upstream/transport/index.ts",
    "server/upstream/download/": "server/upstream/download/index.ts",
  };
  /** Imports past the interface, with the reason. */
  const past: Readonly<Record<string, string>> = {
    "server/http/listen.ts imports server/http/server/socket-server.ts":
      "the only file that chooses the implementation of the server",
  };

  test("codec, HTTP server, HTTP client and downloads are each used through one file", () => {
    const found = Object.entries(interfaces).flatMap(([hidden, entrance]) =>
      sources()
        .filter((file) => file !== entrance && !file.startsWith(hidden))
        .flatMap((file) => importsOf(file).map((away) => ({ file, away })))
        .filter(({ away }) => away.startsWith(hidden) && away !== entrance)
        .map(({ file, away }) => `${file} imports ${away}`),
    );
    expect(found).toEqual(Object.keys(past));
  });

  test("a folder may import only folders of the layers below it", () => {
    const layers = Object.keys(mayImport);
    const upward = Object.entries(mayImport).flatMap(([from, folders]) =>
      folders
        .filter((to) => layers.indexOf(to) >= layers.indexOf(from))
        .map((to) => `${from} -> ${to}`),
    );
    expect(upward).toEqual([]);
  });

  test("SQL is in server/storage only, and bun:sqlite in server/storage/sqlite only", () => {
    // The import reads the databases of other gateways.
    const readers = "cli/import/";
    const wrong = held
      .filter((file) => !file.startsWith("server/storage/") && !file.startsWith(readers))
      .filter((file) =>
        /bun:sqlite|\b(?:SELECT [^;]* FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|(?:CREATE|ALTER|DROP) TABLE|PRAGMA)\b/.test(
          // With its strings, most of which are the SQL of one line.
          uncommented(file),
        ),
      );
    expect(wrong).toEqual([]);
    const outsideSqlite = held.filter(
      (file) =>
        !file.startsWith("server/storage/sqlite/") &&
        !file.startsWith(readers) &&
        textOf(file).includes("bun:sqlite"),
    );
    expect(outsideSqlite).toEqual([]);
  });

  test("tables are created and changed by numbered migrations only", () => {
    const own: Readonly<Record<string, string>> = {
      "server/storage/sqlite/migrate.ts": "the table of the migrations",
      "server/storage/postgres/migrate.ts": "the table of the migrations",
      "server/storage/postgres/ledger-partitions.ts": "one partition of the ledger per day",
    };
    const wrong = held
      .filter((file) => !/^server\/storage\/\w+\/migrations\//.test(file) && !(file in own))
      .filter((file) =>
        /\b(?:CREATE|ALTER|DROP) (?:UNIQUE )?(?:TABLE|INDEX|VIEW|TRIGGER|SCHEMA)\b/.test(
          uncommented(file),
        ),
      );
    expect(wrong).toEqual([]);
  });

  test("a feature is given its stores, and imports only their types", () => {
    const features = /^server\/(config|auth|embeddings|idempotency|ledger)\//;
    // A file such as ledger/open-ledger.ts constructs its feature, and decides which stores it has.
    const constructors = /\/open-[a-z-]+\.ts$/;
    const wrong = held
      .filter((file) => features.test(file) && !constructors.test(file))
      .flatMap((file) =>
        importsOf(file, textOf(file).replaceAll(/^import type [^;]*;/gm, ""))
          .filter((path) => /^server\/storage\/(sqlite|files|redis)\//.test(path))
          .map((path) => `${file} may not import ${path}`),
      );
    expect(wrong).toEqual([]);
  });

  test("the check accepts allowed imports and reports forbidden ones", () => {
    expect(importsOf("server/pipeline/request-lifetime.ts")).toContain("server/ledger/ledger.ts");
    expect(isAllowed("pipeline", "ledger")).toBeTrue();
    expect(isAllowed("pipeline", "http")).toBeFalse();
    expect(isAllowed("upstream", "config")).toBeFalse();
    expect(isAllowed("contract", "lib")).toBeFalse();
    expect(isAllowed("lib", "contract")).toBeTrue();
  });

  test("nothing in production imports tests or benchmarks", () => {
    const wrong = held.filter((file) =>
      importsOf(file).some((away) => /^(test|bench)\//.test(away)),
    );
    expect(wrong).toEqual([]);
  });

  test("files do not import each other in a circle, not even types", () => {
    const inConsole = filesBelow("console").filter((file) => /\.tsx?$/.test(file));
    expect(circles([...held, ...inConsole, ...tests()])).toEqual([]);
  });
});

function circles(files: readonly string[]): string[] {
  const known = new Set(files);
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) {
      found.push([...way.slice(way.indexOf(file)), file].join(" -> "));
      return;
    }
    if (done.has(file)) return;
    for (const next of importsOf(file)) if (known.has(next)) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  return found;
}

describe("dependencies", () => {
  const groups = ["dependencies", "optionalDependencies", "devDependencies"] as const;
  const dependencies = groups.flatMap((group) => Object.entries(manifest[group]));

  test("every package is pinned to one version", () => {
    const loose = [
      ...dependencies,
      ...Object.entries(sketchManifest.dependencies),
      ...Object.entries(consoleManifest.dependencies),
      ...Object.entries(siteManifest.dependencies),
    ].filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version));
    expect(loose).toEqual([]);
  });

  test("a workspace that runs is a part of the package, so that no registry must have it", () => {
    expect(dependencies.filter(([name]) => name.startsWith("@vexel/"))).toEqual([]);
    expect(manifest.imports).toEqual({ "#sketch": "./packages/sketch/src/index.ts" });
    expect(manifest.files).toContain("packages/sketch/src");
    expect(foldersIn("packages")).toEqual(["sketch"]);
  });

  test("the packages of the documentation site are not installed with the gateway", () => {
    expect([...manifest.workspaces, ...manifest.files]).not.toContain("site");
    expect(dependencies.map(([name]) => name)).not.toContain("vitepress");
  });

  test("every workspace has the version of the gateway, in its manifest and in package-lock.json", () => {
    const versions = {
      "packages/sketch": sketchManifest.version,
      "packages/sketch, locked": lock.packages["packages/sketch"].version,
      console: consoleManifest.version,
      "console, locked": lock.packages.console.version,
    };
    const differing = Object.entries(versions).filter(
      ([, version]) => version !== manifest.version,
    );
    expect(differing).toEqual([]);
  });

  test("a package requires the same versions as the gateway", () => {
    const own = new Map(dependencies);
    const differing = Object.entries(sketchManifest.dependencies).filter(
      ([name, version]) => own.get(name) !== version,
    );
    expect(differing).toEqual([]);
  });

  test("package-lock.json agrees with package.json", () => {
    const top = lock.packages[""];
    for (const group of groups) expect<unknown>(top[group]).toEqual(manifest[group]);
    expect(top.version).toBe(manifest.version);
    const locked = lock.packages as Readonly<Record<string, { readonly version?: string }>>;
    for (const [name, version] of dependencies) {
      expect(`${name} ${locked[`node_modules/${name}`]?.version}`).toBe(`${name} ${version}`);
    }
  });

  test("package-lock.json has the packages of every platform, so that `npm ci` works", () => {
    for (const { packages } of [lock, siteLock] as Lock[]) {
      const missing = Object.values(packages)
        .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
        .filter(
          (name) => !Object.keys(packages).some((path) => path.endsWith(`node_modules/${name}`)),
        );
      expect(missing).toEqual([]);
    }
  });

  test("npm ci runs the script of one package, and installs none that reports installations", () => {
    const entries = Object.entries(lock.packages as Lock["packages"]);
    const withScript = entries.filter(([, { hasInstallScript }]) => hasInstallScript);
    expect(withScript.map(([path]) => path)).toEqual(["node_modules/bun"]);
    const named = entries.filter(([path, entry]) => (entry.name ?? path).includes("scarf"));
    expect(named).toEqual([]);
  });

  test("every locked package has a checksum, and none comes from a private registry", () => {
    const odd = ([lock, siteLock] as Lock[])
      .flatMap(({ packages }) => Object.entries(packages))
      .filter(([path, { link }]) => !workspacePath.test(path) && !link)
      .filter(([, { integrity, resolved }]) => {
        const elsewhere = resolved && !resolved.startsWith("https://registry.npmjs.org/");
        return !integrity?.startsWith("sha512-") || elsewhere;
      });
    expect(odd.map(([path]) => path)).toEqual([]);
  });

  test("every imported package is declared", () => {
    const names = new Set([
      ...dependencies.map(([name]) => name),
      ...Object.keys(manifest.imports),
    ]);
    const sketchNames = new Set(Object.keys(sketchManifest.dependencies));
    const consoleNames = new Set(Object.keys(consoleManifest.dependencies));
    const namesFor = (file: string): ReadonlySet<string> => {
      if (file.startsWith("packages/")) return sketchNames;
      // The gateway builds the console with the packages of the console.
      return file.startsWith("server/console/") ? consoleNames : names;
    };
    const missing = sources().flatMap((file) =>
      packagesOf(file)
        .filter((name) => !namesFor(file).has(name))
        .map((name) => `${file}: ${name}`),
    );
    expect(missing).toEqual([]);
  });
});

interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

interface Locked {
  /** The default is that of the path. */
  readonly name?: string;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: object;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
}

const packagesOf = (file: string): string[] =>
  [...textOf(file).matchAll(/(?:\bfrom |\bimport\(|^import )"([^".\n][^"\n]*)"/gm)]
    .map(([, specifier = ""]) => specifier)
    .filter((specifier) => !/^(?:node|bun):/.test(specifier) && specifier !== "bun")
    .map((specifier) =>
      specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/"),
    );

describe("source files:", () => {
  test("every file begins with a header comment", () => {
    const bare = [...sources(), ...tests()].filter((file) => {
      const text = textOf(file).replace(/^#!.*\n/, "");
      return !/^(?:\/\*\*|\/\/ )\s*\S/.test(text);
    });
    expect(bare).toEqual([]);
  });

  test("no error is ignored silently", () => {
    const ignored = /\bcatch\s*(?:\(\w+\)\s*)?\{\s*\}/;
    expect(sources().filter((file) => ignored.test(textOf(file)))).toEqual([]);
  });

  test("every script of package.json refers to existing files", () => {
    const commands = [...Object.values(manifest.scripts), ...Object.values(manifest.bin)];
    const named = commands.flatMap((command) => command.match(/\bbin\/[\w.-]+/g) ?? []);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe("side effects are confined:", () => {
  const server = sources().filter((file) => /^(server|packages)\//.test(file));

  test("only one file calls fetch", () => {
    const callers = server.filter((file) => /(?<![.\w])fetch\(/.test(codeOf(file)));
    expect(callers).toEqual(["server/upstream/transport/transport.ts"]);
  });

  test("commands write to the terminal through one file, which escapes control characters", () => {
    const writers = sources().filter(
      (file) => file.startsWith("cli/") && /std(?:out|err)\.write\(/.test(codeOf(file)),
    );
    // The progress bar of `vexel embed` moves the cursor.
    expect(writers).toEqual(["cli/embed.ts", "cli/write.ts"]);
  });

  test("only the owner of memory releases it", () => {
    const releasing = /\.transfer(?:ToFixedLength)?\(/;
    expect(server.filter((file) => releasing.test(codeOf(file)))).toEqual([
      "server/embeddings/cache/embedding-cache.ts",
      "server/lib/byte-memory.ts",
    ]);
    const callers = server.filter((file) => /\breleaseBuffer\b/.test(codeOf(file)));
    expect(callers).toEqual([
      "server/lib/byte-memory.ts",
      "server/lib/large-json.ts",
      "server/temp-storage/request-temp.ts",
      "server/upstream/adapters/openai/embeddings.ts",
      "server/upstream/adapters/wire/document.ts",
      "server/upstream/transport/parse-response.ts",
      "server/upstream/transport/upstream-response.ts",
    ]);
  });

  test("clocks and randomness are parameters", () => {
    const read = /\b(?:Date\.now|performance\.now|Math\.random)\b/;
    const may = (file: string) => Object.keys(ownClock).some((allowed) => file.startsWith(allowed));
    expect(server.filter((file) => !may(file) && read.test(codeOf(file)))).toEqual([]);
  });
});

const ownClock: Readonly<Record<string, string>> = {
  "server/app.ts": "passes clocks to everything else",
  "server/main.ts": "passes clocks to the code that runs before the server is built",
  "server/storage/sqlite/ledger-query-worker.ts": "is a separate thread",
  "server/workers/process/worker-process.ts": "takes its clock as an option; this is the default",
  "server/workers/embedding/child/": "is a separate process",
  "server/workers/sketch/child.ts": "is a separate process",
};
