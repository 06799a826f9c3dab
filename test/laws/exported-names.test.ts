/** Laws about exported names: one name means one thing in the server and the contract. */
import { describe, expect, test } from "bun:test";
import { codeOf, filesBelow } from "./tree.ts";

type Declarations = ReadonlyMap<string, readonly string[]>;

const typeKeywords = /^export (?:declare )?(?:abstract )?(?:type|interface|class|enum) (\w+)/gm;
const valueKeywords = /^export (?:async )?(?:const|let|function\*?) (\w+)/gm;

const files = ["server", "contract"].flatMap(filesBelow).filter((path) => path.endsWith(".ts"));
const code: ReadonlyMap<string, string> = new Map(files.map((file) => [file, codeOf(file)]));

/** The files that declare each name. Overloads of a function are one declaration. */
function declarationsIn(texts: ReadonlyMap<string, string>, keywords: RegExp): Declarations {
  const declarations = new Map<string, string[]>();
  for (const [file, text] of texts) {
    for (const name of new Set([...text.matchAll(keywords)].map(([, found = ""]) => found))) {
      declarations.set(name, [...(declarations.get(name) ?? []), file]);
    }
  }
  return declarations;
}

const repeatedIn = (declarations: Declarations): string[] =>
  [...declarations]
    .filter(([, declaredIn]) => declaredIn.length > 1)
    .map(([name, declaredIn]) => `${name}: ${declaredIn.join(", ")}`);

/** Without the names that the modules of one vendor, or of the storage backends, share by convention. */
const withoutConventions = (declarations: Declarations): Declarations =>
  new Map([...declarations].filter(([, declaredIn]) => !isConvention(declaredIn)));

const isConvention = (declaredIn: readonly string[]): boolean =>
  declaredIn.every((file) => /^server\/upstream\/(?:adapters|catalog)\//.test(file)) ||
  declaredIn.every((file) => /^server\/storage\/(?:postgres|sqlite)\//.test(file));

describe("exported names:", () => {
  test("a type, interface, class or enum is declared once", () => {
    const declarations = declarationsIn(code, typeKeywords);
    expect(declarations.size).toBeGreaterThan(500);
    expect(repeatedIn(declarations)).toEqual([]);
  });

  test("a function or constant is declared once, except by vendor and by storage backend", () => {
    const declarations = declarationsIn(code, valueKeywords);
    expect(declarations.size).toBeGreaterThan(500);
    expect(repeatedIn(withoutConventions(declarations))).toEqual([]);
  });

  test("the check reports a repeated name, and accepts overloads and vendors", () => {
    const texts = new Map([
      ["server/http/a.ts", "export abstract class Twice {}\nexport async function* twice() {}\n"],
      ["contract/b.ts", "export interface Twice {}\nexport const twice = 1;\n"],
      [
        "server/lib/c.ts",
        "export function once(a: string): void;\nexport function once(): void {}",
      ],
      ["server/upstream/adapters/acme.ts", "export const acme = 1;"],
      ["server/upstream/catalog/acme.ts", "export const acme = 2;"],
    ]);
    expect(repeatedIn(declarationsIn(texts, typeKeywords))).toEqual([
      "Twice: server/http/a.ts, contract/b.ts",
    ]);
    expect(repeatedIn(withoutConventions(declarationsIn(texts, valueKeywords)))).toEqual([
      "twice: server/http/a.ts, contract/b.ts",
    ]);
  });
});
