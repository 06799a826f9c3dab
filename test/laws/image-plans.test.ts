/** Laws of what becomes of an option: for every row of what image models can do, every option, and every policy. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Plan, Policy } from "../../server/images/plan/image-plan.ts";
import { planImage } from "../../server/images/plan/plan.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { EditQuery, GenerationQuery, ImageOptions } from "../../server/upstream/contract.ts";
import type { ImageCapabilities } from "../../server/upstream/image-capabilities.ts";
import { parseSize, sizeRuleViolation } from "../../server/upstream/image-sizes.ts";
import { namedKinds, type Row, rows } from "./image-plan-rows.ts";
import { queryOf, several, wishes } from "./image-requests.ts";
import { type Law, obey, tries } from "./law.ts";

type Rows = ReadonlyMap<string, Row>;
type Query = GenerationQuery | EditQuery;

const policies: readonly Policy[] = ["adapt", "strict", "drop", "pass"];

/** What it is refused with counts as an answer; a defect does not. */
function outcome(
  query: Query,
  traits: ImageCapabilities,
  policy: Policy,
): Plan<Query> | GatewayError {
  try {
    return planImage(query, traits, policy);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

type Verdict = (query: Query, row: Row, policy: Policy) => string | undefined;

/** Over all of it. A verdict is what is wrong. */
const everywhere =
  (verdict: Verdict): Law<Rows> =>
  (kind) => {
    for (const [name, row] of kind) {
      const judge = (options: ImageOptions, policy: Policy, stream: boolean): void => {
        const wrong = verdict(queryOf(options, row, stream), row, policy);
        if (wrong === undefined) return;
        throw new Error(`${name}, ${policy}, ${JSON.stringify(options)}: ${wrong}`);
      };
      for (const policy of policies) {
        for (const options of wishes())
          for (const stream of [false, true]) judge(options, policy, stream);
      }
      fc.assert(fc.property(several, fc.constantFrom(...policies), fc.boolean(), judge), tries(10));
    }
  };

const isUnsaid = (name: string, value: unknown, { always }: ImageCapabilities): boolean => {
  const ever = (always as Record<string, unknown> | undefined)?.[name];
  if (value === "auto" || value === ever) return true;
  if (name === "input_fidelity") return value === "low" && ever === undefined;
  return (
    (name === "output_compression" && value === 100) || (name === "partial_images" && value === 0)
  );
};

/** What becomes of one option. More or fewer than one is too much, or too little. */
function fatesOf(
  name: string,
  value: unknown,
  plan: Plan<Query>,
  traits: ImageCapabilities,
): string[] {
  const { postProcessing: finish, query } = plan;
  const told = (query.options as Record<string, unknown>)[name] === value;
  const here: Record<string, unknown> = {
    response_format: finish.as,
    output_format: finish.format,
    output_compression: finish.compression,
    background: finish.opaque && "opaque",
    size: query.aspectRatio,
  };
  const sent = told || here[name] === value;
  const adapted = plan.adapted.includes(name);
  return [
    ...(plan.dropped.includes(name) ? ["dropped"] : []),
    ...(adapted ? ["adapted"] : []),
    ...(sent && !adapted ? ["sent"] : []),
    ...(!sent && isUnsaid(name, value, traits) ? ["unsaid"] : []),
  ];
}

function isLegalSize(size: string, { sizes }: ImageCapabilities): boolean {
  if (sizes === "any") return true;
  if ("list" in sizes) return sizes.list.includes(size);
  const edges = parseSize(size);
  return (
    "rule" in sizes && edges !== undefined && sizeRuleViolation(edges, sizes.rule) === undefined
  );
}

/** What of it a row does not allow. */
function* illegalIn(
  { query, requestCounts: calls }: Plan<Query>,
  traits: ImageCapabilities,
): Generator<string> {
  const { n = 1, size, ...others } = query.options;
  if (size !== undefined && !isLegalSize(size, traits)) yield `size ${size}`;
  const { sizes } = traits;
  const shapes = sizes !== "any" && "ratios" in sizes ? sizes.ratios : [];
  if (query.aspectRatio !== undefined && !shapes.includes(query.aspectRatio))
    yield `shape ${query.aspectRatio}`;
  for (const [name, value] of Object.entries(others)) {
    const option = name as keyof typeof others;
    // Contested values are the upstream's to refuse.
    const rows = [traits.takes[option], traits.undocumentedOptions?.[option]];
    const isAllowed = rows.some((row) => row === "any" || row?.includes(String(value)));
    if (!isAllowed) yield `${name} ${value}`;
  }
  const { output_format = "", output_compression } = others;
  const compressible = traits.compresses?.includes(output_format) ?? true;
  if (output_compression !== undefined && !compressible) yield `compressed ${output_format}`;
  if (query.stream && !traits.streams) yield "a stream";
  if (calls.some((count) => count > traits.maxImages)) yield `calls for ${calls}`;
  if (calls.reduce((sum, count) => sum + count, 0) !== n) yield `${calls} instead of ${n}`;
}

const quoted = (list: string): string[] =>
  [...list.matchAll(/'([^']*)'/g)].map(([, value]) => value as string);

/** What a refusal says that there is instead, as a caller would take it: without the option, or with another value. */
function offersOf({ message, details }: GatewayError, asked: ImageOptions): ImageOptions[] {
  const { param = "" } = details;
  const { [param as "size"]: _, ...without } = asked;
  const [, list = ""] =
    /(?:Supported values are|only these aspect ratios): (.*)\.$/.exec(message) ?? [];
  const [, other = "", others = ""] = /Request (\w+) ('.*?' or '.*?')/.exec(message) ?? [];
  return [
    without,
    // Alone: beside another option the one or the other may not do.
    ...quoted(list).map((value) => ({ [param]: value })),
    ...quoted(others).map((value) => ({ ...asked, [other]: value })),
  ];
}

const saysMore =
  /Supported values|these aspect ratios|omit|Request output_format|divisible|must be|pixels|times|expected/i;

const laws: Readonly<Record<string, Law<Rows>>> = {
  "an option is sent as it is, or told as adapted, or told as dropped, or refused by its name":
    everywhere((query, { traits }, policy) => {
      const plan = outcome(query, traits, policy);
      if (plan instanceof GatewayError) {
        const { param = "" } = plan.details;
        const asked = [...Object.keys(query.options), ...(query.stream ? ["stream"] : [])];
        if (policy === "drop") return `is refused: ${plan.message}`;
        return asked.includes(param) || (query.stream && param === "response_format")
          ? undefined
          : `the refusal is about '${param}'`;
      }
      for (const [name, value] of Object.entries(query.options)) {
        const fates = name === "n" ? ["sent"] : fatesOf(name, value, plan, traits);
        if (fates.length !== 1) return `${name} is ${fates.join(" and ") || "lost"}`;
      }
      const told = [...plan.adapted, ...plan.dropped];
      if (new Set(told).size !== told.length) return `${told} says a thing twice`;
      return policy === "strict" && told.length > 0 ? `${told} is not as asked` : undefined;
    }),

  "what goes to the vendor is what its row allows, or under pass what the caller sent": everywhere(
    (query, { traits }, policy) => {
      const plan = outcome(query, traits, policy);
      if (plan instanceof GatewayError) return undefined;
      if (policy === "pass" && traits.verbatim) {
        return plan.query === query ? undefined : "is not passed on as it came";
      }
      const [illegal] = illegalIn(plan, traits);
      return illegal && `asks for ${illegal}`;
    },
  ),

  "what a refusal offers instead is not refused": everywhere((query, { traits }, policy) => {
    const refusal = outcome(query, traits, policy);
    if (!(refusal instanceof GatewayError)) return undefined;
    if (!saysMore.test(refusal.message)) return `names no way out: ${refusal.message}`;
    for (const instead of offersOf(refusal, query.options)) {
      const again = outcome({ ...query, options: instead, stream: false }, traits, policy);
      if (again instanceof GatewayError && again.details.param === refusal.details.param) {
        return `${refusal.message} But: ${again.message}`;
      }
    }
    return undefined;
  }),
};

obey(rows, laws);

test("every vendor that says what its models can do is among these", () => {
  expect(namedKinds.filter((kind) => !adapters.has(kind))).toEqual([]);
  for (const [kind, all] of rows) expect(`${kind}: ${all.size > 0}`).toBe(`${kind}: true`);
});
