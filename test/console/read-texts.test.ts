/** Texts that people paste or drop into the embeddings playground. */
import { expect, test } from "bun:test";
import { maxTexts, parseCsv, readTexts } from "../../console/pages/embeddings/read-texts.ts";

test("pasted text has one text per line, without empty lines", () => {
  expect(readTexts(" a \n\nb\r\n").texts).toEqual(["a", "b"]);
});

test("the first column of a CSV file is read, without its header", () => {
  const file = 'text,label\n"a ""quoted"", text",1\r\nplain,2\n"two\nlines",3\n';
  expect(readTexts(file, "data.CSV").texts).toEqual(['a "quoted", text', "plain", "two\nlines"]);
});

test("a CSV file without a header keeps its first row", () => {
  expect(readTexts("first\nsecond", "data.csv").texts).toEqual(["first", "second"]);
});

test("an unclosed quote is an error that names the row", () => {
  expect(() => parseCsv('a\n"b')).toThrow("Row 2 is not valid CSV.");
});

test("each JSON line is a text or an object with a text", () => {
  expect(readTexts('"a"\n{"id":1,"text":"b"}\n', "x.jsonl").texts).toEqual(["a", "b"]);
});

test("a JSON line without a text is an error that names the line", () => {
  expect(() => readTexts('"a"\n{"id":1}', "x.jsonl")).toThrow("Line 2 has no text.");
});

test("texts beyond the limit are counted and reported", () => {
  const { texts, leftOut } = readTexts("x\n".repeat(maxTexts + 3));
  expect([texts.length, leftOut]).toEqual([maxTexts, 3]);
});
