/**
 * The steps of a request: how its log line and its row in the ledger write each code. The first one that matches a
 * text is its step, so those with more words stand first. docs/observability.md lists them.
 */
import type { ValuesIn } from "./messages/message-format.ts";

const stepTexts = {
  moderation_passed: "moderation: passed",
  moderation_flagged: "moderation: flagged",
  moderation_failed: "moderation: {error}",
  adapted: "adapted: {parameter}",
  not_converted: "image not converted: {error}",
  replayed: "replayed: {request}",
  failed_with: "failed with: {request}",
  stored: "response stored",
  implausible: "{quantity} implausible",
  vendor_batch: "run in a batch of the vendor",
  killed: "the gateway was killed before the request finished",
  unsupported: "{target}: skipped, request not supported: {error}",
  at_limits: "{target}: skipped, at its limits",
  rate_limited: "{target}: skipped, its rate limit is reached",
  failing: "{target}: skipped, {count} failures in a row, the last: {error}",
  cooling: "{target}: skipped, {error}",
  busy: "{target}: busy",
  hedged: "{target}: hedged, because the first target was slow",
  generated: "{target}: generated",
  streaming: "{target}: streaming",
  one_image: "{target}: one image per request",
  images_billed: "{target}: {error} for {count} of {requested}, may have been billed",
  images_failed: "{target}: {error} for {count} of {requested}",
  failed_billed: "{target}: {error}, may have been billed",
  failed: "{target}: {error}",
} as const;

export type StepCode = keyof typeof stepTexts;

type ValuesOf<Code extends StepCode> = ValuesIn<(typeof stepTexts)[Code]>;

/** A code with its values. */
export type Step = {
  [Code in StepCode]: readonly [code: Code, ...values: ValuesOf<Code>];
}[StepCode];

const placeholder = /\{(\w+)\}/g;

export const stepText = ([code, values]: Step): string => {
  const given: Readonly<Record<string, unknown>> = values ?? {};
  return stepTexts[code].replaceAll(placeholder, (_, name: string) => String(given[name]));
};

/** What a value looks like. The default is an error kind. */
const shapes: Readonly<Record<string, string>> = {
  target: ".+?",
  parameter: ".+",
  request: "\\S+",
  quantity: "[\\w ]+",
  count: "\\d+",
  requested: "\\d+",
};

const patterns = Object.entries(stepTexts).map(
  ([code, text]) =>
    [
      code as StepCode,
      new RegExp(
        `^${text.replaceAll(placeholder, (_, name: string) => `(?<${name}>${shapes[name] ?? "\\w+"})`)}$`,
      ),
    ] as const,
);

/** Undefined if it is not the text of a step, such as that of an earlier version. */
export function readStep(
  text: string,
): { readonly code: StepCode; readonly values: Readonly<Record<string, string>> } | undefined {
  for (const [code, pattern] of patterns) {
    const found = pattern.exec(text);
    if (found) return { code, values: { ...found.groups } };
  }
  return undefined;
}
