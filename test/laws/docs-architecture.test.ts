/** ARCHITECTURE.md and CONTRIBUTING.md agree with the code: folders, imports, steps, stages and decisions. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { errorTable } from "../../contract/errors.ts";
import { root } from "../harness.ts";
import { codesIn, firstCodes, linksOf, proseOf, rowsOf, sectionOf } from "./markdown.ts";
import { filesBelow, foldersIn, sources, textOf } from "./tree.ts";

const documents = filesBelow("").filter((path) => path.endsWith(".md"));
const _own = documents.filter((path) => !path.startsWith("test/"));

describe("ARCHITECTURE.md", () => {
  /** Paths in backticks: with a slash or an ending, and nothing that varies. */
  const named = (path: string) =>
    codesIn(proseOf(path)).filter((code) =>
      /^(?:server|cli|contract|bin|test|bench|docs)\/[\w./-]*$|^[\w-]+\.(?:md|json|yaml)$/.test(
        code,
      ),
    );

  for (const path of ["ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    test(`names only files that exist (${path})`, () => {
      const names = named(path);
      expect(names.length).toBeGreaterThan(5);
      // `vexel.yaml` is the reader's own.
      const missing = names.filter((name) => !isKept(name) && name !== "vexel.yaml");
      expect(missing).toEqual([]);
    });
  }

  test("has every folder of tests (CONTRIBUTING.md)", () => {
    const documented = firstCodes(sectionOf("CONTRIBUTING.md", "Tests"));
    const folders = foldersIn("test");
    const packages = foldersIn("packages").map((name) => `packages/${name}/test/`);
    expect(documented.sort()).toEqual(
      [...packages, ...folders.map((name) => `test/${name}/`)].sort(),
    );
  });

  test("names every folder of server/ with the folders it may import", () => {
    const rows = rowsOf(sectionOf("ARCHITECTURE.md", "Layout"));
    const documented = rows.flatMap(([first = ""]) => codesIn(first));
    const folders = foldersIn("server").map((name) => `server/${name}/`);
    expect(folders.filter((folder) => !documented.includes(folder))).toEqual([]);
    const law = textOf("test/laws/repository.test.ts");
    for (const [first = "", , arrows = ""] of rows) {
      const [, name] = /^`server\/([\w-]+)\/`$/.exec(first) ?? [];
      if (name === undefined) continue;
      const [, listed = ""] = new RegExp(`^  "?${name}"?: \\[([^\\]]*)\\],$`, "m").exec(law) ?? [];
      expect(`${name}: ${codesIn(arrows)}`).toBe(`${name}: ${listed.match(/[\w-]+/g) ?? ""}`);
    }
  });

  test("numbers the steps of a request, and names the files of each step", () => {
    const rows = rowsOf(sectionOf("ARCHITECTURE.md", "Life of a request"));
    expect(rows.length).toBeGreaterThan(8);
    expect(rows.map(([number]) => Number(number))).toEqual(rows.map((_, at) => at + 1));
    const bare = rows.filter(([, , files = ""]) => codesIn(files).length === 0);
    expect(bare).toEqual([]);
    // A source file whose header names its step is in the row of that step, by itself or with its folder.
    const claims = sources().flatMap((file) => {
      const [header = ""] = /^\/\*\*.*?\*\//s.exec(textOf(file)) ?? [];
      const [, numbers = ""] =
        /\(ARCHITECTURE\.md,\s(?:\* )?steps? (\d+(?: and \d+)*)\)/.exec(header) ?? [];
      return (numbers.match(/\d+/g) ?? []).map((number) => ({
        file,
        row: rows[Number(number) - 1],
      }));
    });
    expect(claims.length).toBeGreaterThan(10);
    const unmet = claims.filter(
      ({ file, row }) =>
        !codesIn(row?.[2] ?? "").some((path) =>
          path.endsWith("/") ? file.startsWith(path) : path === file,
        ),
    );
    expect(unmet.map(({ file }) => file)).toEqual([]);
  });

  test("has every stage in its order, and the file of each stage", () => {
    const rows = rowsOf(sectionOf("ARCHITECTURE.md", "Stages"));
    // A list is an argument, or the result of a function that several endpoints share.
    const stacks = textOf("server/pipeline/stages.ts").matchAll(
      /(?:composeStages\(\s*|\(\) => )\[\n( +)(.*?)\n +\][,;]/gs,
    );
    const listed = [...stacks].map(([, indent = "", list = ""]) =>
      list.split(`\n${indent}`).flatMap((line) => line.match(/^[a-zA-Z]+/)?.[0] ?? []),
    );
    expect(listed).toHaveLength(2);
    for (const stages of listed) {
      const documented = rows.flatMap(([name = ""]) => codesIn(name));
      expect(documented.filter((name) => stages.includes(name))).toEqual(stages);
    }
    expect(new Set(listed.flat()).size).toBe(rows.length);
    const files = rows.flatMap(([, , , files = ""]) => codesIn(files));
    const isStage = (file: string): boolean => /\bStage</.test(textOf(file));
    const own = ["server/pipeline/stages.ts", "server/request/stage.ts"];
    const silent = filesBelow("server").filter((file) => isStage(file) && !files.includes(file));
    expect(silent.filter((file) => !own.includes(file))).toEqual([]);
  });

  test("names only error kinds of the table as the end of a step", () => {
    const rows = rowsOf(sectionOf("ARCHITECTURE.md", "Life of a request"));
    const ends = rows.flatMap((cells) => codesIn(cells.at(-1) ?? ""));
    expect(ends.length).toBeGreaterThan(rows.length);
    expect(ends.filter((name) => !Object.hasOwn(errorTable, name))).toEqual([]);
  });

  test("is short enough to be read in one sitting", () => {
    expect(textOf("ARCHITECTURE.md").split(/\s+/).length).toBeLessThanOrEqual(3000);
  });

  test("names every technique by its established term", () => {
    const text = textOf("ARCHITECTURE.md").toLowerCase();
    expect(terms.filter((term) => !text.includes(term))).toEqual([]);
  });

  test("lists every decision, and each decision has its number and its sections", () => {
    const files = filesBelow("docs/decisions").sort();
    const listed = linksOf("ARCHITECTURE.md").filter((link) => link.startsWith("docs/decisions/"));
    expect(listed).toEqual(files);
    for (const [at, file] of files.entries()) {
      expect(file).toStartWith(`docs/decisions/${String(at + 1).padStart(4, "0")}-`);
      expect(textOf(file)).toStartWith(`# ${at + 1}. `);
      for (const heading of ["Context", "Decision", "Figures", "Consequences"])
        sectionOf(file, heading);
    }
  });
});

describe("the figures of decisions", () => {
  // With their code blocks, which `sectionOf` leaves out.
  const figures = filesBelow("docs/decisions").map((file) => {
    const [, body = ""] = /^## Figures\n(.*?)^## Consequences$/ms.exec(textOf(file)) ?? [];
    return [file, body] as const;
  });

  test("have the command that prints or tests them", () => {
    const command = /`(?:npm|node|du|wc|ls|cat) |^(?:node_modules\/\.bin\/bun|for|git) /m;
    expect(figures.flatMap(([file, body]) => (command.test(body) ? [] : [file]))).toEqual([]);
  });

  test("have commands whose files and scenarios exist", () => {
    const scenarios = textOf("bench/run.ts");
    const wrong = figures.flatMap(([file, body]) => {
      const paths = [
        ...body.matchAll(/npm test -- ([\w./ -]+)/g),
        ...body.matchAll(/import\("\.\/([^"]+)"\)/g),
      ].flatMap(([, list = ""]) => list.trim().split(" "));
      const names = [...body.matchAll(/--only ([\w,-]+)/g)].flatMap(([, list = ""]) =>
        list.split(","),
      );
      const unknown = names.filter((name) => !new RegExp(`\\b"?${name}"?[:,]`).test(scenarios));
      const missing = paths.filter((path) => !existsSync(join(root, path)));
      return [...missing, ...unknown].map((name) => `${file}: ${name}`);
    });
    expect(wrong).toEqual([]);
  });
});

/** The terms that an engineer of proxies searches for. */
const terms = [
  "backpressure",
  "single-flight",
  "deduplication",
  "lru",
  "eviction",
  "circuit breaker",
  "half-open",
  "outlier ejection",
  "token bucket",
  "timeout",
  "connection pool",
  "hedged request",
  "retry budget",
  "load shedding",
  "micro-batching",
  "group commit",
  "write-ahead log",
  "outbox",
  "ssrf guard",
  "idempotency",
];

/** A file, or a folder with files: git does not keep an empty folder. */
const isKept = (path: string): boolean =>
  path.endsWith("/")
    ? filesBelow("").some((file) => file.startsWith(path))
    : existsSync(join(root, path));
