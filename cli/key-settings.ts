/** What else a key is made with: its project, its limits and its end. The same as in vexel.yaml. */

import { limits as schema } from "../server/snapshot/limits.ts";
import { expires as expiresSchema } from "../server/snapshot/schema.ts";
import type { Limits } from "../server/std/limits.ts";
import type { KeySettings } from "../server/store/keys.ts";
import { UsageError } from "./command.ts";

const text = { type: "string" } as const;

export const limitArguments = {
  project: text,
  expires: text,
  "requests-per-minute": text,
  "tokens-per-minute": text,
  "images-per-minute": text,
  "megapixels-per-minute": text,
  concurrent: text,
};

export type SettingValues = Readonly<
  Partial<Record<keyof typeof limitArguments, string | undefined>>
>;

const limitNames: readonly (readonly [
  argument: Exclude<keyof typeof limitArguments, "project" | "expires">,
  name: keyof Limits,
  unit: string,
])[] = [
  ["requests-per-minute", "requestsPerMinute", "requests/min"],
  ["tokens-per-minute", "tokensPerMinute", "tokens/min"],
  ["images-per-minute", "imagesPerMinute", "images/min"],
  ["megapixels-per-minute", "megapixelsPerMinute", "megapixels/min"],
  ["concurrent", "concurrent", "at once"],
];

export function readKeySettings({ project, expires, ...values }: SettingValues): KeySettings {
  const limits: { -readonly [name in keyof Limits]: number } = {};
  for (const [argument, name] of limitNames) {
    const given = values[argument];
    if (given === undefined) continue;
    const number = given.trim() === "" ? Number.NaN : Number(given);
    if (!schema.safeParse({ [name]: number }).success) {
      throw new UsageError(`--${argument} must be a number above 0, not "${given}".`);
    }
    limits[name] = number;
  }
  if (project !== undefined && !/^[^\p{C}]{1,200}$/u.test(project)) {
    throw new UsageError("--project must have 1 to 200 characters, all of them visible.");
  }
  if (expires !== undefined && !expiresSchema.safeParse(expires).success) {
    throw new UsageError(`--expires must be a date such as 2027-01-31, not "${expires}".`);
  }
  return {
    ...(project !== undefined && { project }),
    ...(expires !== undefined && { expiresAt: Date.parse(expires) }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

export const limitWords = (limits: Limits = {}): string =>
  limitNames
    .flatMap(([, name, unit]) => (limits[name] === undefined ? [] : `${limits[name]} ${unit}`))
    .join(", ");
