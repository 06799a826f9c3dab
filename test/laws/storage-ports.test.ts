/**
 * Every storage port has a law suite (test/storage/laws), which runs over each of its implementations: a new port, or a
 * new implementation of one, is not forgotten.
 */
import { describe, expect, test } from "bun:test";
import { posix } from "node:path";
import { filesBelow, sources, textOf } from "./tree.ts";

const ports = "server/storage/ports/";
const suites = "test/storage/laws/";

/** The suite of each port. A suite may hold several ports that share a storage. */
const suiteOf: Readonly<Record<string, string>> = {
  AuditLog: "console-stores",
  BlobStore: "blob-store",
  ConfigEntityStore: "config-entity-store",
  ContentStore: "content-store",
  DeliveryStore: "event-store",
  EmbeddingCacheStore: "embedding-cache-store",
  EventStore: "event-store",
  KeyStore: "key-store",
  LedgerQueries: "ledger-store",
  LedgerStore: "ledger-store",
  Outbox: "outbox",
  RequestClaims: "request-claims",
  ResponseStore: "response-store",
  SessionStore: "console-stores",
  SharedEmbeddings: "shared-embeddings",
  SharedLeases: "shared-leases",
  SharedResponses: "shared-responses",
  SpendSums: "ledger-store",
  UserStore: "console-stores",
};

/** Interfaces with methods that are a part of a port, which passes them to its users. */
const partOf: Readonly<Record<string, string>> = {
  ContentWriter: "ContentStore",
  FoundContent: "ContentStore",
  ResponseWriter: "ResponseStore",
  StoredResponse: "ResponseStore",
  StreamedSource: "BlobStore",
};

/** The interfaces of a file that have a method. Others describe values. */
function interfacesWithMethods(text: string): string[] {
  const interfaces = text.matchAll(/^export interface (\w+)[^{]*\{\n([\s\S]*?)^\}/gm);
  return [...interfaces]
    .filter(([, , body = ""]) => /^ {2}\w+\(/m.test(body))
    .map(([, name = ""]) => name);
}

/** Whether the file has a class or a function that implements the port. */
const implementsPort = (text: string, port: string): boolean =>
  new RegExp(`\\bimplements [^{]*\\b${port}\\b|\\): ${port}(?: =>| \\{)`).test(text);

const importsOf = (file: string): string[] =>
  [...textOf(file).matchAll(/\bfrom "(\.[^"]+)"/g)].map(([, path = ""]) =>
    posix.join(posix.dirname(file), path),
  );

const suiteFiles = filesBelow("test/storage/laws");
const lawFiles = suiteFiles.filter((file) => file.endsWith(".laws.ts"));

describe("storage ports:", () => {
  test("the table has every port of the folder", () => {
    const found = filesBelow(ports.slice(0, -1)).flatMap((file) =>
      interfacesWithMethods(textOf(file)),
    );
    expect(found.toSorted()).toEqual([...Object.keys(suiteOf), ...Object.keys(partOf)].toSorted());
    for (const port of Object.values(partOf)) expect(suiteOf).toHaveProperty(port);
  });

  test("every suite is of a port, and its header names each of its ports", () => {
    const files = [...new Set(Object.values(suiteOf))].map((suite) => `${suites}${suite}.laws.ts`);
    expect(lawFiles).toEqual(files.toSorted());
    const unnamed = Object.entries(suiteOf).filter(
      ([port, suite]) => !textOf(`${suites}${suite}.laws.ts`).includes(`\`${port}\``),
    );
    expect(unnamed).toEqual([]);
  });

  test("every suite runs", () => {
    const callers = filesBelow("test/storage")
      .filter((file) => file.endsWith(".test.ts"))
      .map(textOf);
    const unused = lawFiles.filter((file) => {
      const [, name = ""] = /^export function (\w+Laws)\(/m.exec(textOf(file)) ?? [];
      const isCalled = new RegExp(`^(?:  |hold\\()?${name}[(,]`, "m");
      return name === "" || !callers.some((text) => isCalled.test(text));
    });
    expect(unused).toEqual([]);
  });

  test("every implementation of a port is held to its suite", () => {
    const tried = new Set(suiteFiles.flatMap(importsOf));
    const untried = sources()
      .filter((file) => file.startsWith("server/"))
      .flatMap((file) =>
        Object.keys(suiteOf)
          .filter((port) => implementsPort(textOf(file), port) && !tried.has(file))
          .map((port) => `${file} implements ${port}`),
      );
    expect(untried).toEqual([]);
  });

  test("the check finds ports and implementations", () => {
    const text =
      "export interface Jobs {\n  next(): Job;\n}\n\nexport interface Job {\n  id: string;\n}\n";
    expect(interfacesWithMethods(text)).toEqual(["Jobs"]);
    expect(implementsPort("export class JobTable implements Rows, Jobs {", "Jobs")).toBe(true);
    expect(implementsPort("createJobs = (db: Database): Jobs => ({", "Jobs")).toBe(true);
    expect(implementsPort("function useJobs(jobs: Jobs): void {", "Jobs")).toBe(false);
  });
});
