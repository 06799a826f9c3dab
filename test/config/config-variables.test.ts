/** `${NAME}` in vexel.yaml: any value stays one string, error locations stay correct, and no error repeats a secret. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: such text is what the file is about

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { describeProblems } from "../../server/config/yaml/problem.ts";
import { readText } from "../../server/config/yaml/yaml-file.ts";
import { tries } from "../depth.ts";

const read = (text: string, env: Record<string, string> = {}) =>
  readText({ text, file: "vexel.yaml", env });
const apiKeyOf = (value: string, env: Record<string, string> = {}) => {
  const result = read(
    `upstreams:\n  - id: u\n    kind: openai\n    apiKey: ${value}\n    base64: true\n`,
    env,
  );
  return result.ok ? result.config.upstreams[0]?.apiKey : describeProblems(result.problems);
};
const descriptionOf = (value: string, env: Record<string, string> = {}) => {
  const result = read(
    `models:\n  - id: m\n    kind: image\n    description: ${value}\n    targets: [{ upstream: s, model: m }]\nupstreams: [{ id: s, kind: sketch }]\n`,
    env,
  );
  return result.ok ? result.config.models[0]?.description : describeProblems(result.problems);
};

describe("a variable", () => {
  test("is expanded as a whole value, in quotes, within text and next to another", () => {
    const env = { A: "one", B: "two" };
    expect(apiKeyOf("${A}", env)).toBe("one");
    expect(apiKeyOf("'${A}'", env)).toBe("one");
    expect(apiKeyOf('"x-${A}-y"', env)).toBe("x-one-y");
    expect(apiKeyOf("${A}${B}", env)).toBe("onetwo");
    expect(descriptionOf("|\n      first ${A}\n      then ${B}\n", env)).toBe(
      "first one\nthen two\n",
    );
    expect(descriptionOf("> # ${NOPE}\n      ${A}\n      ${B}\n", env)).toBe("one two\n");
  });

  test("inside braces and brackets needs quotes, and the error says so", () => {
    const upstream = (apiKey: string) =>
      read(`upstreams: [{ id: u, kind: openai, apiKey: ${apiKey} }]\n`, { A: "one" });
    expect(upstream('"${A}"')).toMatchObject({ config: { upstreams: [{ apiKey: "one" }] } });
    expect(upstream("${A}")).toMatchObject({
      problems: [{ line: 1, message: expect.stringContaining('write "${NAME}" in quotes') }],
    });
  });

  test("falls back to its default if it is unset or empty, and only then", () => {
    expect(apiKeyOf("${A:-other}")).toBe("other");
    expect(apiKeyOf("${A:-other}", { A: "" })).toBe("other");
    expect(apiKeyOf("${A:-other}", { A: "set" })).toBe("set");
    expect(descriptionOf(`"\${A:-a: b, c # [d] 'e}"`)).toBe("a: b, c # [d] 'e");
    expect(descriptionOf("${A:-}")).toBe("");
  });

  test("is escaped with two dollar signs", () => {
    expect(descriptionOf("$${A}", { A: "no" })).toBe("${A}");
    expect(descriptionOf("costs $5, $A and $", { A: "no" })).toBe("costs $5, $A and $");
  });

  test("that is not set or malformed is reported with the location of the value", () => {
    expect(apiKeyOf("${NOPE}")).toBe(
      "vexel.yaml:4:13 upstreams[0].apiKey: the environment variable NOPE is not set: set it, and restart a gateway that is running",
    );
    expect(apiKeyOf('"ab${NOPE}"')).toStartWith("vexel.yaml:4:13 upstreams[0].apiKey: the env");
    for (const wrong of ["${}", "${MY-KEY}", "${1X}", "${A B}"])
      expect(apiKeyOf(wrong)).toContain(`apiKey: ${wrong} is not a valid variable name`);
    for (const wrong of ["${", "${A"]) expect(apiKeyOf(wrong)).toContain(`${wrong} is not closed`);
    expect(apiKeyOf("${constructor}")).toContain("constructor is not set");
    expect(apiKeyOf("${__proto__}")).toContain("__proto__ is not set");
  });

  test("in a comment is ignored", () => {
    expect(read("# ${NOPE} ${\nmodels: [] # ${NOPE}\n").ok).toBe(true);
  });

  test("cannot inject YAML, whatever its value", () => {
    const nasty =
      "x\", kind: azure }\n  - { id: evil, # ${A} \u{F0000} \\ ' *a &b !c %d @e `f` | > - ?:";
    expect(descriptionOf("${A}", { A: nasty })).toBe(nasty);
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 60 }), (value) => {
        expect(descriptionOf("${A}", { A: value })).toBe(value);
        expect(descriptionOf('"<${A}>"', { A: value })).toBe(`<${value}>`);
      }),
      tries(300),
    );
  });
});

test("no problem repeats the value of a variable or a key", () => {
  const secret = "hunter2-hunter2-hunter2";
  const documents = [
    'upstreams: [{ id: "S", kind: "S", apiKey: "S" }, { id: "S", kind: openai, apiKey: "S S" }]',
    'upstreams: [{ id: u, kind: openai, baseUrl: "S", headers: { a: "S\\n" }, apiKey: "S" }, { id: a, kind: "S" }]',
    'models: [{ id: "S", kind: "S", targets: [{ upstream: "S", model: "S" }] }, { id: "S", kind: embedding, targets: "S" }]',
    'models: [{ id: m, kind: embedding, targets: [{ upstream: "S", model: "S" }, { upstream: "S", model: x-S }] }]',
    'keys: [{ name: "S", key: "S" }, { name: "S", key: "S", models: "S" }]',
    "builtInModels: S",
    "S",
    "- S",
  ];
  for (const yaml of documents) {
    const result = read(yaml.replaceAll("S", "${SECRET}"), { SECRET: secret });
    expect(result.ok).toBe(false);
    if (!result.ok) expect(describeProblems(result.problems)).not.toContain("hunter2");
  }
  // Written out in the file: as a value of apiKey or key, or next to a syntax error.
  for (const text of [
    `keys: [{ name: a, key: ${secret} }, { name: b, key: ${secret} }, { name: c, key: "${secret} " }]`,
    `keys:\n  - { name: a, key: "${secret}" "${secret}" }\n`,
    `keys:\n  - key: ${secret}: ${secret}\n`,
    `upstreams: [{ id: u, kind: openai, apiKey: "${secret}\\n" }]`,
    `upstreams: [{ id: u, kind: openai, baseUrl: "https://me:${secret}@h" }]`,
  ]) {
    const result = read(text);
    expect(result.ok).toBe(false);
    if (!result.ok) expect(describeProblems(result.problems)).not.toContain("hunter2");
  }
});

const yamlish = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("${", "${A}", "${A:-b}", "$${A}", "$${", "}", "$") },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          "\n",
          "\r\n",
          "  ",
          "- ",
          ": ",
          "{",
          "[",
          "]",
          ",",
          "#",
          '"',
          "'",
        ),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          "upstreams:\n",
          "models:\n  - ",
          "keys:",
          "id: a",
          "kind: openai",
          "&a ",
          "*a",
          "|",
          "!t ",
        ),
      },
      { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 4 }) },
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(""));

test("any text is read, or refused with problems that have a location", () => {
  fc.assert(
    fc.property(fc.oneof(yamlish, fc.string({ unit: "binary" })), (text) => {
      const result = read(text, { A: "a: [b" });
      if (result.ok) return;
      expect(result.problems.length).toBeGreaterThan(0);
      const lines = text.split("\n");
      for (const { line, column, message } of result.problems) {
        expect(message).not.toBe("");
        expect(line).toBeWithin(1, lines.length + 1);
        expect(column).toBeWithin(1, (lines[line - 1]?.length ?? 0) + 2);
      }
    }),
    tries(2000),
  );
});
