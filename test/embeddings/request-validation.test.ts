/**
 * One validator reads every embeddings body: what the OpenAPI document describes, in one pass, up to the first problem.
 */
import { describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020";
import fc from "fast-check";
import { z } from "zod";
import { embeddingsBody } from "../../server/api/embeddings.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { tries } from "../depth.ts";

const maxInputs = 4;
const { read, schema } = embeddingsBody(maxInputs);

/** Whether the schema in the OpenAPI document allows a body. */
const isAllowed = new Ajv({ strict: false }).compile(z.toJSONSchema(schema, { io: "input" }));

const scalar = fc.oneof(
  fc.constantFrom("", "a", "naïve 猫 🐈", "\ud800", null, true, 0, 1, -1, 1.5, 1e300, -0, 100_276),
  fc.integer(),
  fc.string(),
);
const list = (of: fc.Arbitrary<unknown>) => fc.array(of, { maxLength: maxInputs });
const url = fc.constantFrom(
  "data:image/png;base64,AA",
  "https://a.test/b",
  "/files/images/c",
  "ftp:d",
  1,
);
const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.constantFrom("a", "", 1) }),
  fc.record(
    {
      type: fc.constantFrom("image_url", "video_url"),
      image_url: fc.oneof(
        url,
        fc.record({ url }),
        fc.record({ url, detail: fc.constantFrom("auto", "low") }),
      ),
    },
    { requiredKeys: ["type"] },
  ),
  fc.constantFrom({}, "a", { type: "text", text: "a", image_url: "https://a.test/b" }),
);
/** Entries with images. */
const anyEntry = fc.record(
  {
    role: fc.constantFrom("user", 1),
    content: fc.oneof(fc.constantFrom("a", ""), fc.array(part, { maxLength: 3 })),
    text: fc.constantFrom("a", "", 1),
    image: fc.constantFrom("AAAA", "https://a.test/b", "ftp://a.test/b", "", 1),
    other: fc.constant(1),
  },
  { requiredKeys: [] },
);
const anyInput = fc.oneof(
  scalar,
  list(fc.string({ minLength: 1 })),
  list(fc.nat()),
  list(list(fc.nat())),
  list(fc.oneof(scalar, list(scalar), fc.constant({}))),
  anyEntry,
  list(fc.oneof(fc.constantFrom("a", "", [1, 2], []), anyEntry)),
);
const bodies = fc.record(
  {
    model: fc.oneof(fc.constant("m"), fc.constantFrom(1, true, [])),
    input: anyInput,
    encoding_format: fc.constantFrom("float", "base64", "hex", "", 1, []),
    dimensions: fc.oneof(fc.integer({ min: -2, max: 9 }), fc.constantFrom(1.5, 1e300, "1", [])),
    user: fc.constantFrom("u", "", 1, {}),
    extra: scalar,
  },
  { requiredKeys: ["model"] },
);

const hasObject = (input: unknown): boolean =>
  [input].flat().some((entry) => typeof entry === "object" && !Array.isArray(entry));

test("the validator accepts exactly what the schema of the OpenAPI document accepts", () => {
  fc.assert(
    fc.property(bodies, (body) => {
      const fields: Record<string, unknown> = { ...body };
      const success = isAllowed(fields);
      let refusal: unknown;
      try {
        const { model, input, single, encoding, extraFields } = read(fields);
        expect(model).toBe(fields.model as string);
        if (input.kind !== "mixed" && !hasObject(fields.input)) {
          const inputs = input.kind === "text" ? input.texts : input.tokens;
          expect(single ? inputs[0] : inputs).toEqual(fields.input as string);
        }
        expect(encoding).toBe((fields.encoding_format as "float") ?? "float");
        expect(extraFields).toEqual("extra" in fields ? { extra: fields.extra } : {});
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        refusal = error;
      }
      expect(refusal === undefined, `${JSON.stringify(body)}: ${refusal}`).toBe(success);
    }),
    tries(5000),
  );
});

/** A list that counts how often an entry of it is read. */
function counting(list: readonly unknown[]): { list: unknown[]; reads: () => number } {
  let reads = 0;
  const proxy = new Proxy([...list], {
    get: (target, name, self) => {
      if (typeof name === "string" && /^\d+$/.test(name)) reads++;
      return Reflect.get(target, name, self) as unknown;
    },
  });
  return { list: proxy, reads: () => reads };
}

function refusalOf(input: unknown): string {
  try {
    read({ model: "m", input });
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("it was not refused");
}

describe("a long input is refused", () => {
  test("by its count, before its entries are read", () => {
    for (const entry of ["", "a", [], [1], {}, null]) {
      const { list, reads } = counting(Array(100_000).fill(entry));
      expect(refusalOf(list)).toContain("It has 100000 entries; at most 4");
      expect(reads()).toBeLessThan(5);
    }
  });

  test("at its first wrong entry, before the entries behind it are read", () => {
    const { list, reads } = counting([1, 2, "3", ...Array(100_000).fill(-1)]);
    expect(refusalOf(list)).toContain("Entry 2 is not a token");
    expect(reads()).toBeLessThan(6);
  });
});

test("each token of a long input is read once", () => {
  const { list, reads } = counting(Array(100_000).fill(1));
  read({ model: "m", input: list });
  expect(reads()).toBeLessThan(100_005);
});

test.each([
  ["alone", (text: string) => text, "It has"],
  ["in a list", (text: string) => ["a", text], "Entry 1 has"],
] as const)(
  "a text that is longer than any model accepts is refused by its length: %s",
  (_, input, message) => {
    const longest = "x".repeat(4 * 1024 * 1024);
    expect(read({ model: "m", input: input(longest) }).input.kind).toBe("text");
    expect(() => read({ model: "m", input: input(`${longest}y`) })).toThrow(message);
  },
);
