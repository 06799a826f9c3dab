/** Laws of the image plan: over the capabilities of every image model, every option, and every policy. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { ParameterPolicy } from "../../server/config/snapshot.ts";
import type { Plan } from "../../server/images/plan/image-plan.ts";
import { planImage } from "../../server/images/plan/plan.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { EditQuery, GenerationQuery, ImageOptions } from "../../server/upstream/contract.ts";
import type { ImageCapabilities } from "../../server/upstream/image-capabilities.ts";
import { parseSize, sizeRuleViolation } from "../../server/upstream/image-sizes.ts";
import { sampled, tries } from "../depth.ts";
import { namedKinds, type Row, rows } from "./image-plan-rows.ts";
import { optionCombinations, optionValues, queryOf } from "./image-requests.ts";
import { type Law, obey } from "./law.ts";

type Rows = ReadonlyMap<string, Row>;
type Query = GenerationQuery | EditQuery;

const policies: readonly ParameterPolicy[] = ["adapt", "strict", "drop", "pass"];

/** A refusal is an outcome; any other exception is a bug. */
function outcome(
  query: Query,
  capabilities: ImageCapabilities,
  policy: ParameterPolicy,
): Plan<Query> | GatewayError {
  try {
    return planImage(query, capabilities, policy);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** Returns the violation, or undefined. */
type Verdict = (
  query: Query,
  row: Row,
  policy: ParameterPolicy,
  plan: Plan<Query> | GatewayError,
) => string | undefined;

/** The first violation of each law by the rows of a vendor. */
const violations = new WeakMap<Rows, ReadonlyMap<Verdict, string>>();

/** Plans each request once, and asks all laws about the plan. */
function violationsOf(kind: Rows): ReadonlyMap<Verdict, string> {
  const found = new Map<Verdict, string>();
  const judged = new Set<string>();
  for (const [name, row] of kind) {
    // A plan depends on nothing else of a row. Many models of a vendor have the capabilities of another one.
    const decisive = JSON.stringify([row.operation, row.capabilities]);
    if (judged.has(decisive)) continue;
    judged.add(decisive);
    const judge = (options: ImageOptions, policy: ParameterPolicy, stream: boolean): void => {
      const query = queryOf(options, row, stream);
      const plan = outcome(query, row.capabilities, policy);
      for (const verdict of verdicts) {
        const wrong = verdict(query, row, policy, plan);
        if (wrong !== undefined && !found.has(verdict))
          found.set(verdict, `${name}, ${policy}, ${JSON.stringify(options)}: ${wrong}`);
      }
    };
    for (const policy of policies) {
      // Whether the response is a stream decides no policy: the random requests have every pair of both.
      const streams = policy === "adapt" ? [false, true] : [false];
      // The usual policy tries all values, and each of the others every third one, which differs from row to row.
      const values = sampled(optionValues()).filter(
        (_, at) => policy === "adapt" || (at + judged.size) % 3 === 0,
      );
      for (const options of values) for (const stream of streams) judge(options, policy, stream);
    }
    fc.assert(
      fc.property(optionCombinations, fc.constantFrom(...policies), fc.boolean(), judge),
      tries(10),
    );
  }
  return found;
}

const verdicts: Verdict[] = [];

/** Checks all rows, policies and options. */
function overAllRows(verdict: Verdict): Law<Rows> {
  verdicts.push(verdict);
  return (kind) => {
    const found = violations.get(kind) ?? violationsOf(kind);
    violations.set(kind, found);
    const wrong = found.get(verdict);
    if (wrong !== undefined) throw new Error(wrong);
  };
}

const isDefault = (name: string, value: unknown, { always }: ImageCapabilities): boolean => {
  const ever = (always as Record<string, unknown> | undefined)?.[name];
  if (value === "auto" || value === ever) return true;
  if (name === "input_fidelity") return value === "low" && ever === undefined;
  return (
    (name === "output_compression" && value === 100) || (name === "partial_images" && value === 0)
  );
};

/** The outcomes of one option. There must be exactly one. */
function outcomesOf(
  name: string,
  value: unknown,
  plan: Plan<Query>,
  capabilities: ImageCapabilities,
): string[] {
  const { postProcessing, query } = plan;
  const reported = (query.options as Record<string, unknown>)[name] === value;
  const postProcessed: Record<string, unknown> = {
    response_format: postProcessing.deliverAs,
    output_format: postProcessing.format,
    output_compression: postProcessing.compression,
    background: postProcessing.opaque && "opaque",
    size: query.aspectRatio,
  };
  const sent = reported || postProcessed[name] === value;
  const adapted = plan.adapted.includes(name);
  return [
    ...(plan.dropped.includes(name) ? ["dropped"] : []),
    ...(adapted ? ["adapted"] : []),
    ...(sent && !adapted ? ["sent"] : []),
    ...(!sent && isDefault(name, value, capabilities) ? ["unsaid"] : []),
  ];
}

function isLegalSize(size: string, { sizes }: ImageCapabilities): boolean {
  if (sizes === "any") return true;
  if ("list" in sizes) return sizes.list.includes(size);
  if ("rule" in sizes && sizes.names?.includes(size)) return true;
  const edges = parseSize(size);
  return (
    "rule" in sizes && edges !== undefined && sizeRuleViolation(edges, sizes.rule) === undefined
  );
}

/** The parts of the plan that the row does not allow. */
function* illegalIn(
  { query, requestCounts }: Plan<Query>,
  capabilities: ImageCapabilities,
): Generator<string> {
  const { n = 1, size, ...others } = query.options;
  if (size !== undefined && !isLegalSize(size, capabilities)) yield `size ${size}`;
  const { sizes } = capabilities;
  const shapes = sizes !== "any" && "ratios" in sizes ? sizes.ratios : [];
  if (query.aspectRatio !== undefined && !shapes.includes(query.aspectRatio))
    yield `shape ${query.aspectRatio}`;
  for (const [name, value] of Object.entries(others)) {
    const option = name as keyof typeof others;
    // Undocumented values are refused by the upstream, if at all.
    const rows = [capabilities.takes[option], capabilities.undocumentedOptions?.[option]];
    const isAllowed = rows.some((row) => row === "any" || row?.includes(String(value)));
    if (!isAllowed) yield `${name} ${value}`;
  }
  const { output_format = "", output_compression } = others;
  const compressible = capabilities.compresses?.includes(output_format) ?? true;
  if (output_compression !== undefined && !compressible) yield `compressed ${output_format}`;
  if (query.stream && !capabilities.streams) yield "a stream";
  if (requestCounts.some((count) => count > capabilities.maxImages))
    yield `calls for ${requestCounts}`;
  if (requestCounts.reduce((sum, count) => sum + count, 0) !== n)
    yield `${requestCounts} instead of ${n}`;
}

const quoted = (list: string): string[] =>
  [...list.matchAll(/'([^']*)'/g)].map(([, value]) => value as string);

/** The alternatives that a refusal offers: the request without the option, or with another value. */
function offersOf({ message, details }: GatewayError, options: ImageOptions): ImageOptions[] {
  const { param = "" } = details;
  const { [param as "size"]: _, ...without } = options;
  const [, list = ""] =
    /(?:Supported values are|only these aspect ratios): (.*)\.$/.exec(message) ?? [];
  const [, other = "", others = ""] =
    /(?:Request|Set) (\w+) (?:to )?('.*?' or '.*?')/.exec(message) ?? [];
  return [
    without,
    // Alone: with another option the value may not be supported.
    ...quoted(list).map((value) => ({ [param]: value })),
    ...quoted(others).map((value) => ({ ...options, [other]: value })),
  ];
}

const offersAlternative =
  /Supported values|these aspect ratios|omit|Request output_format|divisible|must be|pixels|times|expected/i;

const laws: Readonly<Record<string, Law<Rows>>> = {
  "an option is sent unchanged, reported as adapted, reported as dropped, or refused by its name":
    overAllRows((query, { capabilities }, policy, plan) => {
      if (plan instanceof GatewayError) {
        const { param = "" } = plan.details;
        const options = [...Object.keys(query.options), ...(query.stream ? ["stream"] : [])];
        if (policy === "drop") return `is refused: ${plan.message}`;
        return options.includes(param) || (query.stream && param === "response_format")
          ? undefined
          : `the refusal is about '${param}'`;
      }
      for (const [name, value] of Object.entries(query.options)) {
        const outcomes = name === "n" ? ["sent"] : outcomesOf(name, value, plan, capabilities);
        if (outcomes.length !== 1) return `${name} is ${outcomes.join(" and ") || "lost"}`;
      }
      const reported = [...plan.adapted, ...plan.dropped];
      if (new Set(reported).size !== reported.length) return `${reported} says a thing twice`;
      return policy === "strict" && reported.length > 0
        ? `${reported} is not as requested`
        : undefined;
    }),

  "the upstream request has only what the row allows, or under pass what the client sent":
    overAllRows((query, { capabilities }, policy, plan) => {
      if (plan instanceof GatewayError) return undefined;
      if (policy === "pass" && capabilities.verbatim) {
        return plan.query === query ? undefined : "is not passed on as it came";
      }
      const [illegal] = illegalIn(plan, capabilities);
      return illegal && `requests ${illegal}`;
    }),

  "the alternatives that a refusal offers are accepted": overAllRows(
    (query, { capabilities }, policy, refusal) => {
      if (!(refusal instanceof GatewayError)) return undefined;
      if (!offersAlternative.test(refusal.message))
        return `offers no alternative: ${refusal.message}`;
      for (const instead of offersOf(refusal, query.options)) {
        const again = outcome({ ...query, options: instead, stream: false }, capabilities, policy);
        if (again instanceof GatewayError && again.details.param === refusal.details.param) {
          return `${refusal.message} But: ${again.message}`;
        }
      }
      return undefined;
    },
  ),
};

obey(rows, laws);

test("every vendor that declares capabilities of its models has rows", () => {
  expect(namedKinds.filter((kind) => !adapters.has(kind))).toEqual([]);
  for (const [kind, all] of rows) expect(`${kind}: ${all.size > 0}`).toBe(`${kind}: true`);
});
