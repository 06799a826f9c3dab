/** The guides agree with the code: ledger columns, queries, log events, event types and errors that fail over. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { errorTable } from "../../contract/errors.ts";
import { eventTypes } from "../../contract/events.ts";
import { readStep } from "../../contract/request-steps.ts";
import { targetSpecificErrors } from "../../server/routing/retry-policy.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { temporaryFolder } from "../harness.ts";
import { blocksOf, codesIn, firstCodes, rowsOf, sectionOf } from "./markdown.ts";
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
    const steps = ["Steps of an image request", "Routing steps"].flatMap((heading) =>
      firstCodes(sectionOf(path, heading)),
    );
    expect(steps.length).toBeGreaterThan(12);
    // Capitals are placeholders.
    const samples = steps.map((step) =>
      step
        .replace("TARGET", "openai/gpt-image-2")
        .replace("REASON", "its rate limit is reached")
        .replace(/[A-Z]{2,}/, "upstream_error"),
    );
    expect(samples.filter((sample) => readStep(sample) === undefined)).toEqual([]);
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
    // A row may have an event and its opposite.
    const documented = rowsOf(sectionOf(path, "Logs")).flatMap(([events = ""]) => codesIn(events));
    expect(documented.sort()).toEqual([...new Set(written)].sort());
  });
});

describe("the guides", () => {
  test("name every error that fails over to another target", () => {
    const { body } = sectionOf("docs/routing-and-failover.md", "Retries and retry budget");
    const [paragraph = ""] = /\*\*Failover\.\*\*.*/.exec(body) ?? [];
    const [named = "", others = ""] = paragraph.split("Errors that another target would repeat");
    const elsewhere = Object.entries(errorTable).flatMap(([kind, { retry }]) =>
      retry === "elsewhere" ? [kind] : [],
    );
    expect(codesIn(named).sort()).toEqual([...elsewhere, ...targetSpecificErrors].sort());
    expect(codesIn(others).filter((kind) => elsewhere.includes(kind))).toEqual([]);
  });
});
