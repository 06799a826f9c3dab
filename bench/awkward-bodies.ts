/** JSON bodies that are expensive to parse, validate or send upstream for their size. */

const MB = 1_000_000;

/** `before` and `after` with copies of `filler` in between, about `megabytes` in total. */
const filled = (megabytes: number, before: string, filler: string, after: string) => (): Buffer => {
  const count = Math.floor((megabytes * MB) / Buffer.byteLength(filler));
  return Buffer.concat([
    Buffer.from(before),
    Buffer.alloc(count * Buffer.byteLength(filler), filler),
    Buffer.from(after),
  ]);
};

/** The beginning of an embeddings body. */
export const request = '{"model":"short-vectors","input":';

function manyFields(count: number): Buffer {
  const fields = Array.from({ length: count }, (_, at) => `"f${at}":1`);
  return Buffer.from(`${request}"a",${fields.join(",")}}`);
}

const inputs = (texts: readonly string[]): Buffer =>
  Buffer.from(`${request}${JSON.stringify(texts)}}`);

const different = (count: number, text: string): Buffer =>
  inputs(Array.from({ length: count }, (_, at) => `${at} ${text}`));

/** 2,000 token arrays of `count` tokens each. */
const tokenArrays = (count: number): Buffer =>
  Buffer.from(
    `${request}[${Array(2000)
      .fill(`[${Array(count).fill("99999").join(",")}]`)
      .join(",")}]}`,
  );

export const awkwardBodies: Readonly<Record<string, () => Buffer>> = {
  "2 MB of tokens": filled(2, `${request}[`, "12345,", "1]}"),
  "31 MB of tokens": filled(31, `${request}[`, "12345,", "1]}"),
  "2 MB of one-digit tokens": filled(2, `${request}[`, "1,", "1]}"),
  "0.9 MB of one-digit tokens": filled(0.9, `${request}[`, "1,", "1]}"),
  "2,000 arrays of 150 tokens": () => tokenArrays(150),
  "2,000 arrays of 500 tokens": () => tokenArrays(500),
  '8 MB of "",': filled(8, `${request}[`, '"",', '"a"]}'),
  "2 MB of one-digit values in an extra field": filled(2, `${request}"a","x":[`, "1,", "1]}"),
  "131,000 objects in an extra field": filled(0.393, `${request}"a","x":[`, "{},", "1]}"),
  "60,000 objects in an extra field": filled(0.18, `${request}"a","x":[`, "{},", "1]}"),
  "500,000 empty texts in an extra field": filled(1.5, `${request}"a","x":[`, '"",', "1]}"),
  "500,000 short texts in an extra field": filled(2.5, `${request}"a","x":[`, '"ab",', "1]}"),
  "arrays of 120 levels in an extra field": filled(
    8,
    `${request}"a","x":[`,
    `${"[".repeat(120)}${"]".repeat(120)},`,
    "1]}",
  ),
  "long numbers in an extra field": filled(
    6,
    `${request}"a","x":[`,
    `-1.${"7".repeat(300)}e-200,`,
    "1]}",
  ),
  "numbers with 17 digits in an extra field": filled(
    6,
    `${request}"a","x":[`,
    "0.12345678901234567,",
    "1]}",
  ),
  "2 texts of 4 MB with a lone surrogate": () =>
    Buffer.from(
      `${request}[${Array(2)
        .fill(`"\\ud800${"x".repeat(3_990_000)}"`)
        .join(",")}]}`,
    ),
  "2 different texts of 4 MB, UTF-16": () => different(2, `猫${"x".repeat(3_990_000)}`),
  "2 texts of 4 MB, Chinese": () => different(2, "猫".repeat(1_300_000)),
  "8 MB of \\u0041": filled(8, `${request}["`, "\\u0041", '"]}'),
  "8 MB of escaped Chinese in 2,000 texts": () =>
    Buffer.from(
      `${request}[${Array(2000)
        .fill(`"${"\\u732b".repeat(660)}"`)
        .join(",")}]}`,
    ),
  "2.4 million unknown fields": () => manyFields(2_400_000),
  "16,000 unknown fields": () => manyFields(16_000),
  "16,000 unknown fields of one name": filled(0.096, `${request}"a",`, '"f":1,', '"f":1}'),
  "input 16,000 times": filled(0.176, "{", '"input":"",', `${request.slice(1)}"a"}`),
  "8 MB of [": filled(8, `${request}`, "[", ""),
  '8 MB of {"a":': filled(8, `${request}`, '{"a":', ""),
  "one text of 8 MB": filled(8, `${request}"`, "lorem ipsum ", '"}'),
  "one text of 8 MB, UTF-16": filled(8, `${request}"猫`, "lorem ipsum ", '"}'),
  "one text of 8 MB, escaped": filled(8, `${request}"`, "\\n", '"}'),
  "one text of 4 MB, base64": filled(4, `${request}"`, "QUJDREVG", '"}'),
  "a text of 8 MB in an extra field, UTF-16": filled(
    8,
    `${request}"a","x":"猫`,
    "lorem ipsum ",
    '"}',
  ),
  "one number of 8 MB": filled(8, request, "1", "}"),
  "8 MB of spaces": filled(8, request, " ", '"a"}'),
  "16 MB, a text in an extra field": filled(16, `${request}"a","x":"`, "lorem ipsum ", '"}'),
  "16 MB, a text in an extra field, UTF-16": filled(
    16,
    `${request}"a","x":"猫`,
    "lorem ipsum ",
    '"}',
  ),
  "16 MB, a text in an extra field, Chinese": filled(16, `${request}"a","x":"`, "猫", '"}'),
  "16 MB, 4 different texts, UTF-16": () => different(4, `猫${"x".repeat(3_990_000)}`),
  "16 MB, 2,000 different texts": () => different(2000, "lorem ipsum ".repeat(660)),
  "16 MB, 2,000 different texts, UTF-16": () => different(2000, `猫${"lorem ipsum ".repeat(660)}`),
  "12 MB of \\u0041": filled(12, `${request}["`, "\\u0041", '"]}'),
  "2,000 texts of 4 KB": () => inputs(Array<string>(2000).fill("lorem ipsum ".repeat(330))),
  "2,000 different texts of 4 KB": () => different(2000, "lorem ipsum ".repeat(330)),
  "2,000 different texts of 4 KB, UTF-16": () => different(2000, `猫${"lorem ipsum ".repeat(330)}`),
};
