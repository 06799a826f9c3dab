/** The CSV reader of `vexel embed`. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { recordsOf } from "../../cli/embed/input/read-csv.ts";
import { tries } from "../depth.ts";

async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

const quote = (field: string): string => `"${field.replaceAll('"', '""')}"`;

test("a CSV file gives back the fields that were written, in chunks of any size", async () => {
  const field = fc.string({ unit: fc.constantFrom("a", "é", ",", '"', "\n", "\r", " ") });
  const records = fc.array(fc.array(field, { minLength: 2, maxLength: 3 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(records, fc.integer({ min: 1, max: 9 }), async (written, size) => {
      const text = written.map((record) => `${record.map(quote).join(",")}\r\n`).join("");
      expect(await Array.fromAsync(recordsOf(inPieces(text, size)))).toEqual(written);
    }),
    tries(500),
  );
});
