/** The guides agree with the code: ledger columns, queries, log events, event types and tables of fixed values. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { errorTable } from "../../contract/errors.ts";
import { eventTypes } from "../../contract/events.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { temporaryFolder } from "../harness.ts";
import { fixedValues } from "./fixed-values.ts";
import { blocksOf, codesIn, firstCodes, rowsOf, sectionOf, sectionsOf } from "./markdown.ts";
import { filesBelow, sources, textOf } from "./tree.ts";

const documents = filesBelow("").filter((path) => path.endsWith(".md"));
const own = documents.filter((path) => !path.startsWith("test/"));

describe("docs/observability.md", () => {
  const path = "docs/observability.md";

  test("has every column of the ledger, and queries that run", () => {
    using folder = temporaryFolder();
    new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 }).close();
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
    // Capitals and digits are placeholders for names and counts.
    const fixed = steps.flatMap((step) => step.split(/[A-Z]{2,}|\d+/)).map((part) => part.trim());
    const phrases = fixed
      .map((part) => part.replace(/^: /, ""))
      .filter((part) => /\w{2}/.test(part));
    expect(phrases.filter((part) => !code.includes(part))).toEqual([]);
  });

  test("has every type of event and no other, and says when it happens", () => {
    const documented = rowsOf(sectionOf(path, "Events")).map(([type = "", when]) => [
      codesIn(type)[0],
      when,
    ]);
    expect<unknown>(documented).toEqual(Object.entries(eventTypes));
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

describe("the guides", () => {
  test("have tables of fixed values that agree with the code, row by row", () => {
    const pages = documents.filter((path) =>
      sectionsOf(path).some(({ heading }) => heading === "Fixed values"),
    );
    expect(pages.sort()).toEqual([...new Set(fixedValues.map(([page]) => page))].sort());
    for (const path of pages) {
      const checked = fixedValues.filter(([page]) => page === path);
      const rows = rowsOf(sectionOf(path, "Fixed values"));
      expect(rows).toEqual(checked.map(([, label, value]) => [label, value]));
      for (const [, label, , file, code] of checked)
        expect(`${label}: ${occursWhole(textOf(file), code)}`).toBe(`${label}: true`);
    }
  });

  test("have fixed values whose numbers are those of the code", () => {
    const wrong = fixedValues.flatMap(([, label, value, , code]) => {
      const [name = "", ...rest] = code.split(/\s*[=:]\s*/);
      const expression = (rest.join(" ") || name).replace("second", "1000");
      // Also the factors: 30 days are `30 * 86_400_000`, and 1024x1024 is `1024 * 1024`.
      const numbers = [...numbersIn(expression), ...expression.split("*").flatMap(numbersIn)];
      const documented = documentedNumbers(value, name.includes("Ms"));
      return documented.some((number) => !numbers.some((one) => isClose(one, number)))
        ? [`${label}: ${value}, in the code ${numbers.join(" and ")}`]
        : [];
    });
    expect(wrong).toEqual([]);
  });

  test("name every error that fails over to another target", () => {
    const { body } = sectionOf("docs/routing-and-failover.md", "Retries and retry budget");
    const [paragraph = ""] = /\*\*Failover\.\*\*.*/.exec(body) ?? [];
    const [named = "", others = ""] = paragraph.split("Errors that another target would repeat");
    const elsewhere = Object.entries(errorTable).flatMap(([kind, { retry }]) =>
      retry === "elsewhere" ? [kind] : [],
    );
    const targetSpecific = ["model_not_found", "upstream_forbidden"];
    expect(codesIn(named).sort()).toEqual([...elsewhere, ...targetSpecific].sort());
    expect(codesIn(others).filter((kind) => elsewhere.includes(kind))).toEqual([]);
    const policy = textOf("server/routing/retry-policy.ts");
    const [, listed = ""] = /targetSpecificErrors[^=]*= new Set\(\[([^\]]*)\]/.exec(policy) ?? [];
    expect([...(listed.match(/\w+/g) ?? [])]).toEqual(targetSpecific);
  });
});

/** Whether the code occurs as a whole: not as part of a longer name, number or product. */
const occursWhole = (text: string, code: string): boolean =>
  new RegExp(`(?<![\\w$])${code.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?!\\w|\\.\\d| [*/] )`).test(
    text,
  );

/** The products and quotients in an expression, such as 262144 for `256 * 1024`. */
const numbersIn = (expression: string): number[] =>
  [...expression.matchAll(/[\d._]+(?: [*/] [\d._]+)*/g)].map(([product]) =>
    product
      .replaceAll("_", "")
      .split(/ (?=[*/])/)
      .reduce((result, part) => {
        const number = Number(part.replace(/^[*/] /, ""));
        return part.startsWith("/")
          ? result / number
          : part.startsWith("*")
            ? result * number
            : number;
      }, 0),
  );

const units: Readonly<Record<string, number>> = {
  "%": 0.01,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};
const milliseconds: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
};

/** The numbers of a documented value in the unit of the code. Times are in milliseconds in the code. */
const documentedNumbers = (value: string, isTime: boolean): number[] =>
  [...value.matchAll(/(\d[\d,.]*)(?:\/(\d+))?(?: (%|[A-Za-z]+))?/g)].map(
    ([, number = "", divisor = "1", unit = ""]) =>
      (Number(number.replaceAll(",", "").replace(/\.$/, "")) / Number(divisor)) *
      (units[unit] ?? (isTime ? (milliseconds[unit] ?? 1) : 1)),
  );

const isClose = (a: number, b: number): boolean =>
  Math.abs(a - b) < 1e-9 * Math.max(1, Math.abs(a));
