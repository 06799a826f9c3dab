/** Texts that people paste or drop into the embeddings playground. */
import { expect, test } from "bun:test";
import { maxTexts, readTexts } from "../../console/src/features/embeddings/read-texts.ts";
import { decodeText, parseCsv } from "../../console/src/lib/csv.ts";

test("pasted text has one text per line, without empty lines", () => {
  expect(readTexts(" a \n\nb\r\n").texts).toEqual(["a", "b"]);
});

test("the text column of a CSV file is read, without its header", () => {
  const file = 'text,label\n"a ""quoted"", text",1\r\nplain,2\n"two\nlines",3\n';
  expect(readTexts(file, "data.CSV").texts).toEqual(['a "quoted", text', "plain", "two\nlines"]);
});

test("the texts of a file with ids are its texts, and another column can be chosen", () => {
  const [csv, jsonl] = ["id,text\nx1,eins\nx2,zwei\n", '{"id":"x1","text":"eins"}\n'];
  expect(readTexts(csv, "a.csv")).toMatchObject({
    texts: ["eins", "zwei"],
    columns: ["id", "text"],
  });
  expect(readTexts(csv, "a.csv", "id").texts).toEqual(["x1", "x2"]);
  expect(readTexts(jsonl, "a.jsonl").texts).toEqual(["eins"]);
  const unnamed = '{"a":"1","b":"a long text"}\n{"a":"2","b":"another"}';
  expect(readTexts(unnamed, "a.jsonl").texts).toEqual(["a long text", "another"]);
  expect(readTexts("k1,a long text\nk2,b", "a.csv").texts).toEqual(["a long text", "b"]);
});

test("a file that is not text in UTF-8 is not read", () => {
  const bytes = (text: string) => new TextEncoder().encode(text).buffer as ArrayBuffer;
  expect(decodeText(bytes("gr\u00fcn"))).toBe("gr\u00fcn");
  expect(decodeText(bytes("%PDF-1.7 ..."))).toBeUndefined();
  expect(decodeText(bytes("a\0b"))).toBeUndefined();
  expect(decodeText(Uint8Array.of(0x50, 0xff, 0xfe).buffer as ArrayBuffer)).toBeUndefined();
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
