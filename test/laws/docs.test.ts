/** The documents say what the code does: nothing is left out, nothing is invented, every example works. */
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import Ajv from "ajv/dist/2020";
import { z } from "zod";
import { type ErrorDefinition, type ErrorKind, errorTable } from "../../contract/errors.ts";
import { eventTypes } from "../../contract/events.ts";
import manifest from "../../package.json";
import { buildOpenapi } from "../../server/api/openapi.ts";
import { loadSnapshot } from "../../server/config/load-snapshot.ts";
import { describeProblems } from "../../server/config/problem.ts";
import { providers, variablesOf } from "../../server/config/providers.ts";
import { knownKeys } from "../../server/config/schema.ts";
import { policy } from "../../server/config/target-order.ts";
import { jsonBounds } from "../../server/http/json-bounds.ts";
import { routes } from "../../server/http/routes.ts";
import { sniffImage } from "../../server/lib/sniff-image.ts";
import { settingsTable } from "../../server/settings.ts";
import { LedgerFile } from "../../server/storage/ledger-file.ts";
import { vendors } from "../../server/upstream/adapters/index.ts";
import { kinds } from "../../server/upstream/kinds.ts";
import { startupMessage } from "../../server/wiring/startup-message.ts";
import { root, startGateway, temporaryFolder, testKey } from "../harness.ts";
import {
  anchorsOf,
  blocksOf,
  codeHeadings,
  codesIn,
  firstCodes,
  linksOf,
  proseOf,
  rowsOf,
  sectionOf,
  sectionsOf,
} from "./markdown.ts";
import { filesBelow, foldersIn, sources, textOf } from "./tree.ts";

const documents = filesBelow("").filter((path) => path.endsWith(".md"));
const own = documents.filter((path) => !path.startsWith("test/"));

describe("docs/errors.md", () => {
  const table = Object.entries(errorTable) as [ErrorKind, ErrorDefinition][];

  test("has every fault and no other, in the order of the table", () => {
    expect(codeHeadings("docs/errors.md", 3)).toEqual(table.map(([name]) => name));
  });

  test("says of each what the table says, and what to do", () => {
    for (const [name, fault] of table) {
      const { body } = sectionOf("docs/errors.md", `\`${name}\``);
      const [facts, when, advice] = body.split("\n\n");
      expect(`${name}: ${facts}`).toBe(`${name}: ${factsOf(fault)}`);
      expect(`${name}: ${when}`).toBe(`${name}: ${fault.description}`);
      expect(`${name}: ${advice ?? ""}`).toMatch(/: .{20,}/);
    }
  });

  test("has no fault that cannot happen", () => {
    const server = sources().filter((file) => file.startsWith("server/"));
    const text = server.map(textOf).join("\n");
    expect(table.map(([name]) => name).filter((name) => !text.includes(`"${name}"`))).toEqual([]);
  });
});

const blame = { client: "the caller", upstream: "the upstream", gateway: "the gateway" } as const;

function retryOf({ retry, clientShouldNotRetry: final }: ErrorDefinition): string {
  if (retry === "never") return "does not help";
  if (final) return "does not help, but another target may";
  return retry === "later"
    ? "helps a little later"
    : "may help; other targets of the model are tried first";
}

const factsOf = (fault: ErrorDefinition): string =>
  [
    `**${fault.status}**`,
    `type \`${fault.type}\``,
    `code \`${fault.code}\``,
    `up to ${blame[fault.causedBy]}`,
    `a retry ${retryOf(fault)}`,
    ...(fault.mayBeBilled ? ["may have been charged"] : []),
  ].join(" · ");

describe("docs/settings.md", () => {
  const table: [string, z.ZodType][] = Object.entries(settingsTable);

  test("has every setting and no other", () => {
    expect(codeHeadings("docs/settings.md", 3).sort()).toEqual(table.map(([name]) => name).sort());
  });

  test("says of each what the table says", () => {
    for (const [name, schema] of table) {
      const [facts = "", words = ""] = sectionOf("docs/settings.md", `\`${name}\``).body.split(
        "\n\n",
      );
      const fallback = String(schema.parse(undefined));
      const { enum: values } = z.toJSONSchema(schema, { io: "output" }) as { enum?: string[] };
      const choice = values ? ` One of ${values.map((value) => `\`${value}\``).join(", ")}.` : "";
      const printed = fallback === "" ? "empty" : `\`${fallback}\``;
      // A number of bytes may be told again in larger units.
      const told = facts.replace(/ \((\d+) ([MG])iB\)/, (_, count: string, unit: string) => {
        const bytes = Number(count) * 1024 ** (unit === "M" ? 2 : 3);
        return String(bytes) === fallback ? "" : ` (${count} ${unit}iB is wrong)`;
      });
      expect(`${name} ${told}`).toBe(`${name} Default: ${printed}.${choice}`);
      expect(`${name} ${words.split("\n")[0]}`).toBe(`${name} ${schema.description}`);
    }
  });
});

interface Content {
  readonly schema?: { readonly properties?: Readonly<Record<string, unknown>> };
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: { readonly 200: { readonly content: Readonly<Record<string, Content>> } };
}

describe("docs/api.md", () => {
  const document = buildOpenapi("http://127.0.0.1:8080", manifest.version) as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const operationOf = (heading: string): Operation => {
    const [, method = "", path = ""] = /^`(\w+) (\S+)`$/.exec(heading) ?? [];
    const found = document.paths[path]?.[method.toLowerCase()];
    if (!found) throw new Error(`there is no ${heading}`);
    return found;
  };
  const requestOf = (heading: string): Content["schema"] =>
    operationOf(heading).requestBody?.content["application/json"]?.schema;

  test("has every route and no other", () => {
    const told = codeHeadings("docs/api.md", 2);
    expect(told.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
  });

  test("says of each what it does", () => {
    for (const { method, path, summary } of routes) {
      const { body } = sectionOf("docs/api.md", `\`${method} ${path}\``);
      expect(body.startsWith(summary.replace(/\.$/, ""))).toBeTrue();
    }
  });

  test("has every field of every body and no other", () => {
    const fieldsOf = (heading: string) => firstCodes(sectionOf("docs/api.md", heading)).sort();
    const wanted = (heading: string) => Object.keys(requestOf(heading)?.properties ?? {}).sort();
    for (const { method, path, sameAs } of routes.filter((row) => row.method === "POST")) {
      const heading = `\`${method} ${path}\``;
      const shared = path === "/v1/images/edits" ? fieldsOf("`POST /v1/images/generations`") : [];
      // Another path to the same has no table of its own: its section names the route it is the same as.
      if (sameAs !== undefined) {
        const origin = routes.find(({ name }) => name === sameAs);
        const { body } = sectionOf("docs/api.md", heading);
        expect(body).toContain(`${origin?.method} ${origin?.path}`);
        expect(wanted(heading)).toEqual(wanted(`\`${origin?.method} ${origin?.path}\``));
        continue;
      }
      expect([...shared, ...fieldsOf(heading)].sort()).toEqual(wanted(heading));
    }
  });

  test("has the limits of a JSON body as they are in the code", () => {
    const written = rowsOf(sectionOf("docs/api.md", "JSON body limits")).map(([, value]) => value);
    expect(written).toEqual(
      Object.values(jsonBounds).map((bound) => bound.toLocaleString("en-US")),
    );
  });

  test("has every word for what vectors are for, and no other", () => {
    const told = rowsOf(sectionOf("docs/embeddings.md", "Task types")).flatMap(
      ([meaning, words = ""]) => codesIn(words).map((word) => `${word}: ${meaning}`),
    );
    const [, table = ""] =
      /^const spellings.*?\{\n(.*?)^\};/ms.exec(textOf("server/upstream/task-type.ts")) ?? [];
    const written = [...table.matchAll(/^ {2}(\w+): "([\w-]+)",$/gm)];
    expect(told).toEqual(written.map(([, word, meaning]) => `${word}: ${meaning}`));
    expect(told.length).toBeGreaterThan(10);
  });

  const examples = blocksOf("docs/api.md").filter(({ info }) => info.startsWith("json "));
  test("has examples", () => {
    expect(examples.length).toBeGreaterThan(routes.length / 2);
  });
  for (const { info, text, under } of examples) {
    test(`${under}: the ${info.slice(5)} is valid`, () => {
      const schema =
        info === "json request"
          ? requestOf(under)
          : operationOf(under).responses[200].content["application/json"]?.schema;
      const ajv = new Ajv();
      const valid = ajv.validate(schema ?? false, JSON.parse(text));
      expect(valid ? "valid" : ajv.errorsText()).toBe("valid");
    });
  }

  test("has every header that the gateway sets by itself", () => {
    const told = firstCodes(sectionOf("docs/api.md", "Response headers"));
    const text = ["api", "auth", "http", "images", "idempotency", "limits", "pipeline", "request"]
      .flatMap((folder) => filesBelow(`server/${folder}`))
      .map(textOf)
      .join("\n");
    for (const name of told) expect(`${name} ${text.includes(name)}`).toBe(`${name} true`);
    const ours = [...text.matchAll(/"((?:x-(?!content-)|vexel-|retry-)[a-z-]+)":/g)].map(
      ([, name]) => name,
    );
    expect([...new Set(ours)].filter((name) => !told.includes(name as string))).toEqual([]);
  });
});

describe("docs/upstreams.md", () => {
  const path = "docs/upstreams.md";

  test("has every kind of upstream and no other, with its facts", () => {
    const table = rowsOf(sectionOf(path, "Those that speak OpenAI's language"));
    const rows = new Map(table.map(([name = "", ...facts]) => [codesIn(name)[0], facts]));
    const sections = codeHeadings(path, 3);
    expect<(string | undefined)[]>([...rows.keys(), ...sections]).toEqual([...kinds.keys()]);
    const list = (names: readonly string[], none: string) =>
      names.length > 0 ? names.map((name) => `\`${name}\``).join(", ") : none;
    for (const { name, baseUrl, needs, options, serves } of kinds.values()) {
      const place = baseUrl ? `\`${baseUrl}\`` : "none";
      const [wants, has] = [list(needs, "nothing"), list(Object.keys(options), "none")];
      const makes = serves ?? "embedding, image";
      const row = rows.get(name);
      if (row) {
        // The one option that all of the table have is told above it.
        expect(`${name}: ${has}`).toBe(`${name}: \`base64\``);
        expect([name, ...row.slice(0, 3)]).toEqual([name, place, wants, makes]);
        expect(row[3]).toMatch(/\w.*\.$/);
        continue;
      }
      const facts = `Base URL: ${place} · needs: ${wants} · options: ${has} · serves: ${makes}`;
      const { body } = sectionOf(path, `\`${name}\``);
      expect(`${name}: ${body.split("\n\n")[0]}`).toBe(`${name}: ${facts}`);
      expect(body.split("\n\n").length).toBeGreaterThan(1);
    }
  });

  test("has every provider with all its variables, in order of precedence", () => {
    const rows = rowsOf(sectionOf(path, "Keys from the environment"));
    const told = rows.map(([id = "", kind = "", ...cells]) => ({
      id: codesIn(id),
      kind: codesIn(kind),
      variables: cells.flatMap(codesIn),
    }));
    expect(told).toEqual(
      providers.map((provider) => ({
        id: [provider.id],
        kind: [provider.kind],
        variables: [...variablesOf(provider)],
      })),
    );
  });

  test("has every option of a local embedding model", () => {
    const local = Object.keys(kinds.get("local")?.options ?? {});
    expect(firstCodes(sectionOf(path, "Models of your own")).sort()).toEqual(local.sort());
  });

  test("describes every embedded model", () => {
    const loaded = loadSnapshot({ path: "/nowhere/vexel.yaml", env: {}, migan: true });
    const ids = loaded.ok ? [...loaded.snapshot.models.keys()] : [];
    expect(ids).not.toEqual([]);
    for (const id of ids) expect(sectionOf(path, id).level).toBe(3);
  });
});

describe("docs/configuration.md", () => {
  const path = "docs/configuration.md";

  test("has every key of vexel.yaml and no other", () => {
    const keysUnder = (heading: string) => firstCodes(sectionOf(path, heading)).sort();
    const sorted = (keys: readonly string[]) => [...new Set(keys)].sort();
    const ofBothKinds = (keyPath: readonly PropertyKey[]) =>
      sorted(["embedding", "image"].flatMap((kind) => knownKeys(keyPath, kind)));
    expect(keysUnder("Top-level keys")).toEqual(sorted(knownKeys([])));
    expect(keysUnder("API keys")).toEqual(sorted(knownKeys(["keys", 0])));
    expect(keysUnder("Default models")).toEqual(sorted(knownKeys(["defaults"])));
    expect(keysUnder("Projects")).toEqual(sorted(knownKeys(["projects", 0])));
    expect(keysUnder("Rate limits")).toEqual(sorted(knownKeys(["keys", 0, "limits"])));
    expect(keysUnder("Budgets")).toEqual(sorted(knownKeys(["keys", 0, "budget"])));
    expect(keysUnder("Webhooks")).toEqual(sorted(knownKeys(["webhooks", 0])));
    expect(keysUnder("Upstreams")).toEqual(sorted(knownKeys(["upstreams", 0])));
    expect(keysUnder("Models")).toEqual(ofBothKinds(["models", 0]));
    expect(keysUnder("Targets")).toEqual(ofBothKinds(["models", 0, "targets", 0]));
    const moderation = knownKeys(["models", 0, "moderation"], "image");
    expect(keysUnder("Prompt moderation")).toEqual(sorted(moderation));
    const priceKeys = (kind: string) => sorted(knownKeys(["models", 0, "price"], kind));
    expect(keysUnder("Embedding prices")).toEqual(priceKeys("embedding"));
    expect(keysUnder("Image prices")).toEqual(priceKeys("image"));
  });

  test("has every policy of target selection and no other", () => {
    const names = firstCodes(sectionOf(path, "Load balancing and failover"));
    expect(names).toEqual(policy.options);
  });
});

describe("docs/observability.md", () => {
  const path = "docs/observability.md";

  test("has every column of the ledger, and queries that run", () => {
    using folder = temporaryFolder();
    new LedgerFile({ folder: folder.path, maxBytes: 0 }).close();
    const db = new Database(join(folder.path, "ledger.db"), { readonly: true });
    const columns = db.query<{ name: string }, []>("PRAGMA table_info(ledger)").all();
    expect(firstCodes(sectionOf(path, "Request ledger"))).toEqual(columns.map(({ name }) => name));
    const queries = own.flatMap(blocksOf).filter(({ info }) => info === "sql");
    expect(queries.length).toBeGreaterThan(5);
    for (const { text } of queries) expect(db.query(text).all()).toEqual([]);
    db.close();
  });

  test("names the steps of the ledger as the code writes them", () => {
    const code = sources()
      .filter((file) => file.startsWith("server/"))
      .map(textOf)
      .join("\n");
    const steps = ["Steps of an image request", "Routing steps"].flatMap((heading) =>
      firstCodes(sectionOf(path, heading)),
    );
    expect(steps.length).toBeGreaterThan(12);
    // Capitals and digits stand for names and counts.
    const fixed = steps.flatMap((step) => step.split(/[A-Z]{2,}|\d+/)).map((part) => part.trim());
    const words = fixed.map((part) => part.replace(/^: /, "")).filter((part) => /\w{2}/.test(part));
    expect(words.filter((part) => !code.includes(part))).toEqual([]);
  });

  test("has every type of event and no other, and says when it happens", () => {
    const told = rowsOf(sectionOf(path, "Events")).map(([type = "", when]) => [
      codesIn(type)[0],
      when,
    ]);
    expect<unknown>(told).toEqual(Object.entries(eventTypes));
  });

  test("has every event of the log and no other", () => {
    const written = sources()
      .filter((file) => file.startsWith("server/"))
      .flatMap((file) => [
        ...textOf(file).matchAll(/\blog(?:\.(?:debug|info|warn|error)|\[level\])\(\s*"([^"]+)"/g),
      ])
      .map(([, event]) => event as string);
    expect(firstCodes(sectionOf(path, "Logs")).sort()).toEqual([...new Set(written)].sort());
  });
});

describe("ARCHITECTURE.md", () => {
  /** Paths in backticks: with a slash or an ending, and nothing that varies. */
  const named = (path: string) =>
    codesIn(proseOf(path)).filter((code) =>
      /^(?:server|cli|contract|bin|test|bench|docs)\/[\w./-]*$|^[\w-]+\.(?:md|json|yaml)$/.test(
        code,
      ),
    );

  for (const path of ["ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    test(`names no file that is not there (${path})`, () => {
      const names = named(path);
      expect(names.length).toBeGreaterThan(5);
      // `vexel.yaml` is the reader's own.
      const missing = names.filter((name) => !isKept(name) && name !== "vexel.yaml");
      expect(missing).toEqual([]);
    });
  }

  test("CONTRIBUTING.md names every folder of tests", () => {
    const told = firstCodes(sectionOf("CONTRIBUTING.md", "Tests"));
    const folders = foldersIn("test").filter((name) => name !== "data");
    const packages = foldersIn("packages").map((name) => `packages/${name}/test/`);
    expect(told.sort()).toEqual([...packages, ...folders.map((name) => `test/${name}/`)].sort());
  });

  test("names every folder of server/ with the folders it may import", () => {
    const rows = rowsOf(sectionOf("ARCHITECTURE.md", "Layout"));
    const told = rows.flatMap(([first = ""]) => codesIn(first));
    const folders = foldersIn("server").map((name) => `server/${name}/`);
    expect(folders.filter((folder) => !told.includes(folder))).toEqual([]);
    const law = textOf("test/laws/repository.test.ts");
    for (const [first = "", , arrows = ""] of rows) {
      const [, name] = /^`server\/(\w+)\/`$/.exec(first) ?? [];
      if (name === undefined) continue;
      const [, listed = ""] = new RegExp(`^  ${name}: \\[([^\\]]*)\\],$`, "m").exec(law) ?? [];
      expect(`${name}: ${codesIn(arrows)}`).toBe(`${name}: ${listed.match(/\w+/g) ?? ""}`);
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
      const [, numbers = ""] =
        /^\/\*\*\s[^\n]*?\bSteps? (\d+(?: and \d+)*)/.exec(textOf(file)) ?? [];
      return (numbers.match(/\d+/g) ?? []).map((number) => ({
        file,
        row: rows[Number(number) - 1],
      }));
    });
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
      /(?:(?:through|first)\(\s*|\(\) => )\[\n( +)(.*?)\n +\][,;]/gs,
    );
    const listed = [...stacks].map(([, indent = "", list = ""]) =>
      list.split(`\n${indent}`).flatMap((line) => line.match(/^[a-zA-Z]+/)?.[0] ?? []),
    );
    expect(listed).toHaveLength(3);
    for (const stages of listed) {
      const told = rows.flatMap(([name = ""]) => codesIn(name));
      expect(told.filter((name) => stages.includes(name))).toEqual(stages);
    }
    expect(new Set(listed.flat()).size).toBe(rows.length);
    const files = rows.flatMap(([, , , files = ""]) => codesIn(files));
    const isStage = (file: string): boolean => /\bStage<|\bFirstStage</.test(textOf(file));
    const own = ["server/pipeline/stages.ts", "server/request/stage.ts"];
    const silent = filesBelow("server").filter((file) => isStage(file) && !files.includes(file));
    expect(silent.filter((file) => !own.includes(file))).toEqual([]);
  });

  test("names only error codes of the table as the end of a step", () => {
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

  test("lists every decision, and each decision has its number, context and consequences", () => {
    const files = filesBelow("docs/decisions").sort();
    const listed = linksOf("ARCHITECTURE.md").filter((link) => link.startsWith("docs/decisions/"));
    expect(listed).toEqual(files);
    for (const [at, file] of files.entries()) {
      expect(file).toStartWith(`docs/decisions/${String(at + 1).padStart(4, "0")}-`);
      expect(textOf(file)).toStartWith(`# ${at + 1}. `);
      for (const heading of ["Context", "Decision", "Consequences"]) sectionOf(file, heading);
    }
  });
});

/** What an engineer searches for who runs proxies for a living. */
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
  "write-ahead journal",
  "ssrf guard",
  "idempotency",
];

/** An empty folder is not: git does not keep it. */
const isKept = (path: string): boolean =>
  path.endsWith("/")
    ? filesBelow("").some((file) => file.startsWith(path))
    : existsSync(join(root, path));

describe("README.md", () => {
  test("names only commands that there are", () => {
    const scripts = Object.keys(manifest.scripts);
    const code = own.flatMap((path) => [
      ...blocksOf(path).map(({ text }) => text),
      ...codesIn(proseOf(path)),
    ]);
    const named = [...code.join("\n").matchAll(/\bnpm (?:run )?([a-z]+)\b/g)].map(
      ([, name]) => name as string,
    );
    const ofNpm = ["install", "link"];
    expect(named.filter((name) => !scripts.includes(name) && !ofNpm.includes(name))).toEqual([]);
    expect(named).toContain("start");
    expect(named).toContain("test");
  });

  test("has every command of the command line", () => {
    const [list = ""] = /const commands\b[\s\S]+?\n\]\);/.exec(textOf("cli/main.ts")) ?? [];
    const told = firstCodes(sectionOf("README.md", "The command")).map(
      (code) => code.split(" ")[1],
    );
    expect(told).toEqual([...list.matchAll(/^ {2}\["(\w+)"/gm)].map(([, name]) => name as string));
    expect(told).toContain("serve");
  });

  test("counts the kinds of upstream outside this machine", () => {
    const rows = rowsOf(sectionOf("README.md", "At a glance"));
    expect(rows).toContainEqual(["Kinds of upstream", String(vendors.length)]);
  });

  test("asks only for the models that are embedded", () => {
    const asked = own
      .filter((path) => path === "README.md")
      .flatMap(blocksOf)
      .flatMap(({ text }) => [...text.matchAll(/"?model"?\s*[:=]\s*"([^"]+)"/g)])
      .map(([, id]) => id as string);
    expect([...new Set(asked)].sort()).toEqual(["all-minilm-l6-v2", "vexel-sketch"]);
  });
});

describe("the first pages", () => {
  test("show the startup message as it is printed", () => {
    const loaded = loadSnapshot({ path: "/nowhere/vexel.yaml", env: {} });
    if (!loaded.ok) throw new Error(describeProblems(loaded.problems));
    const message = startupMessage({
      url: "http://127.0.0.1:8080",
      snapshot: loaded.snapshot,
      newKey: "sk-vx-…",
    });
    for (const page of ["README.md", "docs/quickstart.md"]) {
      const shown = blocksOf(page).filter(({ text }) => text.includes("Vexel is listening."));
      expect(shown).toHaveLength(1);
      expect(message).toContain(shown[0]?.text.trimEnd() ?? page);
    }
  });
});

describe("what the first pages say to type works", () => {
  const gateway = startGateway({ yaml: `keys: [{ name: test, key: ${testKey} }]` });
  afterAll(() => gateway.close());
  const printed = "http://127.0.0.1:8080";

  for (const page of ["README.md", "docs/quickstart.md"]) {
    const curls = blocksOf(page).flatMap(({ text }) => [
      ...text.matchAll(/curl (\S+) \\\n[\s\S]*?-d '([^']*)'/g),
    ]);
    for (const [, url = "", body = ""] of curls) {
      test(`${page}: curl ${url} -d '${body}'`, async () => {
        const response = await gateway.post(url.slice(printed.length), body);
        expect(response.status).toBe(200);
        const { data } = (await response.json()) as { data: unknown[] };
        expect(data.length).toBeGreaterThan(0);
      });
    }
  }

  const programs = [
    { page: "README.md", file: "boat.png", prints: /^2 vectors of 384\n$/ },
    {
      page: "docs/quickstart.md",
      file: "lighthouse.png",
      prints: /^a small ship 0\.[4-9]\d\ntax law -?0\.[0-3]\d\n$/,
    },
  ];
  for (const { page, file, prints } of programs) {
    test(`${page}: TypeScript`, async () => {
      using folder = temporaryFolder();
      const image = join(folder.path, file);
      const [program] = blocksOf(page).filter(({ info }) => info === "ts");
      const code = program?.text
        .replace(printed, gateway.url)
        .replace(`"${file}"`, JSON.stringify(image));
      const child = Bun.spawn([process.execPath, "-e", code ?? ""], {
        cwd: root,
        env: { PATH: process.env.PATH ?? "", VEXEL_KEY: testKey },
        stdout: "pipe",
        stderr: "inherit",
      });
      expect(await new Response(child.stdout).text()).toMatch(prints);
      expect(await child.exited).toBe(0);
      expect(sniffImage(readFileSync(image))).toBe("image/png");
    });
  }
});

describe("every document", () => {
  test("leads somewhere with every link", () => {
    const broken = documents.flatMap((path) =>
      linksOf(path)
        .filter((link) => !/^https?:/.test(link))
        .filter((link) => {
          const [file = "", anchor] = link.split("#");
          const target = file === "" ? path : posix.join(dirname(path), file);
          if (!existsSync(join(root, target))) return true;
          return anchor !== undefined && !anchorsOf(target).includes(anchor);
        })
        .map((link) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test("names the page that a link leads to, if its text is a file name", () => {
    const wrong = documents.flatMap((path) =>
      [...proseOf(path).matchAll(/\[([\w./-]+\.md)\]\(([^)#\s]*)[^)]*\)/g)]
        .filter(([, text = "", target = ""]) => posix.basename(text) !== posix.basename(target))
        .map(([link]) => `${path}: ${link}`),
    );
    expect(wrong).toEqual([]);
  });

  test("is in the index, if it is a page of docs/", () => {
    const pages = filesBelow("docs").filter((path) => /^docs\/[\w-]+\.md$/.test(path));
    const linked = linksOf("docs/README.md").map((link) => `docs/${link}`);
    expect(pages.filter((page) => page !== "docs/README.md" && !linked.includes(page))).toEqual([]);
  });

  test("has configurations that load", () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "vexel.yaml");
    const texts = own
      .flatMap((path) => blocksOf(path).filter(({ info }) => info === "yaml"))
      .map(({ text }) => text);
    expect(texts.length).toBeGreaterThan(2);
    for (const text of [...texts, textOf("vexel.example.yaml")]) {
      writeFileSync(file, text);
      const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name as string);
      const env = Object.fromEntries(names.map((name) => [name, sampleOf(name)]));
      const loaded = loadSnapshot({ path: file, required: true, env });
      expect(loaded.ok ? loaded.warnings.join("\n") : describeProblems(loaded.problems)).toBe("");
    }
  });

  test("has JSON that is JSON", () => {
    for (const { info, text } of own.flatMap(blocksOf)) {
      if (/^json\b/.test(info)) expect(() => JSON.parse(text)).not.toThrow();
      for (const [, body = ""] of text.matchAll(/-d '([^']*)'/g))
        expect(() => JSON.parse(body)).not.toThrow();
    }
  });

  test("speaks of settings and variables that exist", () => {
    const known = new Set([
      ...Object.keys(settingsTable),
      ...providers.flatMap(variablesOf),
      // Old names, beside their new ones.
      ...firstCodes(sectionOf("CHANGELOG.md", "Renamed settings")),
      // The reader's own, in examples.
      ...["VEXEL_KEY", "VEXEL_URL"],
    ]);
    const odd = own.flatMap((path) =>
      [...textOf(path).matchAll(/\b(?:VEXEL_[A-Z_]+[A-Z]|[A-Z]+_API_KEY)\b(?!…)/g)]
        .map(([name]) => name)
        .filter((name) => !known.has(name) && !/^VEXEL_MAX$/.test(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(odd).toEqual([]);
  });

  test("has tables of fixed values that agree with the code, row by row", () => {
    const pages = documents.filter((path) =>
      sectionsOf(path).some(({ heading }) => heading === "Fixed values"),
    );
    expect(pages.sort()).toEqual([...new Set(fixedValues.map(([page]) => page))].sort());
    for (const path of pages) {
      const checked = fixedValues.filter(([page]) => page === path);
      const rows = rowsOf(sectionOf(path, "Fixed values"));
      expect(rows).toEqual(checked.map(([, label, value]) => [label, value]));
      for (const [, label, , file, code] of checked)
        expect(`${label}: ${textOf(file).includes(code)}`).toBe(`${label}: true`);
    }
  });

  test("speaks of the project, and of nothing behind it", () => {
    // Written so that this file does not find itself.
    const strange = new RegExp(
      [
        "\\.\\./sha" + "red\\b",
        "/wo" + "rk/",
        "\\.lib" + "rary\\b",
        "\\biss" + "ue #\\d",
        "\\bTO" + "DO\\b",
      ].join("|"),
    );
    const text = /\.(?:ts|tsx|mjs|md|json|yaml|yml|toml)$|^\.ci\/|^LICENSE$/;
    const found = filesBelow("")
      .filter((path) => text.test(path) && path !== "package-lock.json")
      .filter((path) => strange.test(textOf(path)));
    expect(found).toEqual([]);
  });
});

/** Long enough for a key; what signs webhooks has a shape of its own. */
const sampleOf = (name: string): string =>
  name === "WEBHOOK_SECRET"
    ? `whsec_${Buffer.from(`${name}-0123456789abcdef`).toString("base64")}`
    : `${name}-0123456789abcdef`;

/** Rows of the tables "Fixed values": page, label, value, and the source file with the code that sets the value. */
const fixedValues: readonly (readonly [string, string, string, string, string])[] = [
  ["docs/operations.md", "Node.js version", "20 or later", "package.json", '"node": ">=20"'],
  [
    "docs/operations.md",
    "File size above which an upload goes to disk",
    "256 KiB",
    "server/app.ts",
    "spoolAbove = 256 * 1024",
  ],
  [
    "docs/operations.md",
    "Ledger rows kept in memory while the journal cannot be written",
    "10,000",
    "server/ledger/ledger.ts",
    "maxPending: 10_000",
  ],
  [
    "docs/operations.md",
    "Pause between two attempts to write the ledger",
    "1 s",
    "server/ledger/ledger.ts",
    "retryMs: 1000",
  ],
  [
    "docs/api.md",
    "Characters of one embeddings input, and of an image prompt",
    "4,194,304",
    "server/api/max-text-length.ts",
    "maxTextLength = 4 * 1024 * 1024",
  ],
  ["docs/api.md", "Images in one edit request", "16", "server/api/edits.ts", "maxImages = 16"],
  [
    "docs/api.md",
    "Cancellation of upstream requests after a client disconnects",
    "within 50 ms",
    "server/request/deadline.ts",
    "tickMs = 50",
  ],
  [
    "docs/embeddings.md",
    "Chunks of one split request in parallel",
    "8",
    "server/embeddings/split.ts",
    "maxParallel = 8",
  ],
  [
    "docs/embeddings.md",
    "Dimensions of `all-minilm-l6-v2`",
    "384",
    "server/workers/embedding/minilm.ts",
    "dimensions: 384",
  ],
  [
    "docs/embeddings.md",
    "Tokens that `all-minilm-l6-v2` reads of one input",
    "256",
    "server/workers/embedding/minilm.ts",
    "maxTokens: 256",
  ],
  [
    "docs/embeddings.md",
    "Local ONNX models loaded at the same time",
    "8",
    "server/workers/embedding/local.ts",
    "maxModels = 8",
  ],
  [
    "docs/images.md",
    "Upstream requests of one image request in parallel",
    "4",
    "server/images/fan-out.ts",
    "maxParallel = 4;",
  ],
  [
    "docs/images.md",
    "Wait for the first stream event before the status 200 is sent",
    "10 s",
    "server/app.ts",
    "patienceMs: 10_000",
  ],
  [
    "docs/images.md",
    "Silence after which a stream gets a comment line",
    "15 s",
    "server/app.ts",
    "heartbeatMs: 15_000",
  ],
  [
    "docs/images.md",
    "Width and height of `vexel-sketch` images",
    "16 to 4096 pixels",
    "packages/sketch/src/options.ts",
    "[16, 4096]",
  ],
  [
    "docs/images.md",
    "Pixels of a `vexel-sketch` image",
    "8,294,400",
    "packages/sketch/src/options.ts",
    "8_294_400",
  ],
  [
    "docs/rate-limits-and-budgets.md",
    "Image size counted when a request names none",
    "1024x1024",
    "server/limits/request-cost.ts",
    "1024 * 1024",
  ],
  [
    "docs/rate-limits-and-budgets.md",
    "Body size up to which an embeddings request is tried against the cache under overload",
    "64 KiB",
    "server/limits/load-shedder.ts",
    "64 * 1024",
  ],
  [
    "docs/rate-limits-and-budgets.md",
    "Slots beyond `VEXEL_MAX_CONCURRENT`, for fairness and for cache hits",
    "1/8 of it each",
    "server/limits/load-shedder.ts",
    "spareShare = 1 / 8",
  ],
  [
    "docs/caching-and-batching.md",
    "Usual response time below which a request never waits for a batch",
    "5 ms",
    "server/embeddings/batch.ts",
    "quickMs = 5",
  ],
  [
    "docs/caching-and-batching.md",
    "Upstream requests in flight that make a target busy",
    "4",
    "server/embeddings/batch.ts",
    "lanes = 4",
  ],
  [
    "docs/caching-and-batching.md",
    "Requests that wait for a batch per target",
    "1,024",
    "server/embeddings/batch.ts",
    "maxWaiting = 1024",
  ],
  [
    "docs/routing-and-failover.md",
    "Consecutive failures that eject a target",
    "5",
    "server/routing/health/circuit-breaker.ts",
    "failureThreshold = 5;",
  ],
  [
    "docs/routing-and-failover.md",
    "Consecutive failures that eject a target during slow start",
    "3",
    "server/routing/health/circuit-breaker.ts",
    "failureThresholdInRamp = 3;",
  ],
  [
    "docs/routing-and-failover.md",
    "First half-open probe after",
    "1 s",
    "server/routing/health/circuit-breaker.ts",
    "minOpenMs = 1000;",
  ],
  [
    "docs/routing-and-failover.md",
    "Longest time until the next half-open probe",
    "30 s",
    "server/routing/health/circuit-breaker.ts",
    "maxOpenMs = 30_000",
  ],
  [
    "docs/routing-and-failover.md",
    "Timeout of a half-open probe",
    "2 s",
    "server/routing/health/circuit-breaker.ts",
    "probeTimeoutMs = 2000;",
  ],
  [
    "docs/routing-and-failover.md",
    "Slow start after recovery",
    "10 s",
    "server/routing/health/circuit-breaker.ts",
    "rampMs = 10_000",
  ],
  [
    "docs/routing-and-failover.md",
    "Share of requests at the beginning of slow start",
    "10 %",
    "server/routing/health/circuit-breaker.ts",
    "minRampShare = 0.1;",
  ],
  [
    "docs/routing-and-failover.md",
    "Recent requests in the error share of a target",
    "64",
    "server/routing/health/outcome-window.ts",
    "kept = 64;",
  ],
  [
    "docs/routing-and-failover.md",
    "Fewest requests for outlier ejection",
    "20",
    "server/routing/health/outlier-ejection.ts",
    "minSamples = 20;",
  ],
  [
    "docs/routing-and-failover.md",
    "Error share for outlier ejection",
    "20 %",
    "server/routing/health/outlier-ejection.ts",
    "minFailureRate = 0.2;",
  ],
  [
    "docs/routing-and-failover.md",
    "Successful probes after outlier ejection",
    "3",
    "server/routing/health/circuit-breaker.ts",
    "goodProbesWhenPartial = 3;",
  ],
  [
    "docs/routing-and-failover.md",
    "Longest cool-down of a rate-limited target",
    "5 min",
    "server/routing/health/cool-down.ts",
    "maxCoolDownMs = 300_000",
  ],
  [
    "docs/routing-and-failover.md",
    "Retry budget: share of requests",
    "20 %",
    "server/routing/retry-budget.ts",
    "share = 0.2;",
  ],
  [
    "docs/routing-and-failover.md",
    "Retry budget: reserve",
    "5 per second",
    "server/routing/retry-budget.ts",
    "reservePerSecond = 5;",
  ],
  [
    "docs/routing-and-failover.md",
    "Retries of the same target per request",
    "2",
    "server/routing/retry-policy.ts",
    "maxRepeats = 2;",
  ],
  [
    "docs/routing-and-failover.md",
    "First retry of the same target after",
    "50 to 250 ms",
    "server/routing/retry-policy.ts",
    "[shortestMs, longestMs] = [50, 250]",
  ],
  [
    "docs/routing-and-failover.md",
    "Longest `retry-after` that is waited for",
    "500 ms",
    "server/routing/retry-policy.ts",
    "maxRetryAfterMs = 500",
  ],
  [
    "docs/routing-and-failover.md",
    "Responses before the first hedged request",
    "20",
    "server/routing/health/latency-window.ts",
    "minimumCount = 20",
  ],
  [
    "docs/routing-and-failover.md",
    "Shortest attempt timeout",
    "1 s",
    "server/routing/health/latency-stats.ts",
    "minTimeoutMs = 1000;",
  ],
  [
    "docs/routing-and-failover.md",
    "Attempt timeout while nothing is known",
    "20 s",
    "server/routing/health/latency-stats.ts",
    "initialTimeoutMs = 20_000;",
  ],
  [
    "docs/routing-and-failover.md",
    "Requests in flight to a silent target that stop new requests",
    "5",
    "server/routing/health/target-health.ts",
    "silentRequestsLimit = 5;",
  ],
  [
    "docs/routing-and-failover.md",
    "Silence that stops new requests",
    "1.5 s",
    "server/routing/health/target-health.ts",
    "silenceMs = 1500;",
  ],
  [
    "docs/routing-and-failover.md",
    "Concurrency limit after an overload signal",
    "70 % of the requests in flight",
    "server/routing/health/adaptive-concurrency.ts",
    "share = 0.7",
  ],
  [
    "docs/routing-and-failover.md",
    "Lowest adaptive concurrency limit",
    "4",
    "server/routing/health/adaptive-concurrency.ts",
    "minimumLimit = 4;",
  ],
  [
    "docs/routing-and-failover.md",
    "Hard concurrency limit after an overload signal",
    "3 s",
    "server/routing/health/adaptive-concurrency.ts",
    "hardLimitMs = 3000;",
  ],
  [
    "docs/routing-and-failover.md",
    "Cosine similarity below which a target has drifted",
    "0.985",
    "server/embeddings/drift-canary.ts",
    "alike = 0.985",
  ],
  [
    "docs/routing-and-failover.md",
    "Pause before a target that did not respond is compared again",
    "10 s",
    "server/wiring/embeddings.ts",
    "lookAgainMs = 10_000",
  ],
  [
    "docs/routing-and-failover.md",
    "No connection reuse after an unsolicited response",
    "10 min",
    "server/upstream/transport/keep-alive-trust.ts",
    "distrustMs = 10 * 60_000;",
  ],
  [
    "docs/routing-and-failover.md",
    "Idle connections kept per upstream address",
    "256",
    "server/upstream/transport/connection-pool.ts",
    "maxIdle = 256",
  ],
  [
    "docs/routing-and-failover.md",
    "Time an idle upstream connection is kept",
    "30 s",
    "server/upstream/transport/connection-pool.ts",
    "idleTimeoutMs = 30_000",
  ],
  [
    "docs/observability.md",
    "Time from the journal to `ledger.db`",
    "50 ms",
    "server/ledger/ledger.ts",
    "groupMs: 50",
  ],
  [
    "docs/observability.md",
    "Events kept",
    "10,000",
    "server/storage/event-file.ts",
    "maxEvents = 10_000",
  ],
  [
    "docs/observability.md",
    "Days an event is kept",
    "30",
    "server/storage/event-file.ts",
    "keepDays = 30",
  ],
  [
    "docs/observability.md",
    "Events queued per webhook",
    "1,000",
    "server/storage/events.ts",
    "maxWaiting = 1000",
  ],
  [
    "docs/observability.md",
    "Timeout of a webhook delivery",
    "10 s",
    "server/events/delivery-queue.ts",
    "defaultTimeoutMs = 10 ",
  ],
  [
    "docs/observability.md",
    "Jitter of webhook retries",
    "up to 20 % later",
    "server/events/delivery-queue.ts",
    "jitter = 0.2",
  ],
  [
    "docs/security.md",
    "Random bytes in a generated API key",
    "32",
    "server/storage/keys.ts",
    "randomBytes(32)",
  ],
  [
    "docs/security.md",
    "Random bytes in the name of an image link",
    "24",
    "server/storage/image-files.ts",
    "randomBytes(24)",
  ],
  [
    "docs/security.md",
    "Characters of an API key in `vexel.yaml`",
    "at least 16",
    "server/config/schema.ts",
    "secret.min(16)",
  ],
];
