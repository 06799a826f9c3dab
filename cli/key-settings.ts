/**
 * Options of `vexel keys create`: project, limits, budget, default models and expiry of a key, validated by the schema
 * of vexel.yaml.
 */

import { periods } from "../contract/budget-periods.ts";
import {
  type Budget,
  type Limits,
  type RateName,
  rateLimits,
} from "../contract/limits-and-budgets.ts";
import { modelKinds } from "../contract/model-kinds.ts";
import { keyBody, parameters as parametersSchema } from "../contract/schemas/keys.ts";
import { budgetOf } from "../server/config/build/limits-and-budgets.ts";
import type { KeySettings } from "../server/storage/sql/stored-key.ts";
import { UsageError } from "./command.ts";

const text = { type: "string" } as const;

type LimitArgument = `${RateName}-per-minute` | "concurrent";

const limitOptions: readonly {
  readonly argument: LimitArgument;
  readonly name: keyof Limits;
  readonly unit: string;
  readonly isWhole: boolean;
}[] = [
  ...rateLimits.map(({ name, unit }) => ({
    argument: `${name}-per-minute` as const,
    name: `${name}PerMinute` as const,
    unit: `${name}/min`,
    isWhole: unit === 1,
  })),
  { argument: "concurrent", name: "concurrent", unit: "concurrent", isWhole: true },
];

const limitArguments = Object.fromEntries(
  limitOptions.map(({ argument }) => [argument, text]),
) as Record<LimitArgument, typeof text>;

export const settingArguments = {
  project: text,
  parameters: text,
  priority: text,
  "default-embedding": text,
  "default-image": text,
  expires: text,
  ...limitArguments,
  "budget-day": text,
  "budget-month": text,
  "budget-total": text,
  "unknown-price": text,
  "show-cost": { type: "boolean" },
} as const;

type Argument = Exclude<keyof typeof settingArguments, "show-cost">;

type SettingValues = Readonly<Partial<Record<Argument, string | undefined>>> & {
  readonly "show-cost"?: boolean | undefined;
};

/** `now`: Unix milliseconds. */
export function readKeySettings(values: SettingValues, now: number): KeySettings {
  const { project, expires, parameters, priority } = values;
  if (project !== undefined && !/^[^\p{C}]{1,200}$/u.test(project)) {
    throw new UsageError("--project must have 1 to 200 printable characters.");
  }
  if (expires !== undefined && !keyBody.shape.expires.safeParse(expires).success) {
    throw new UsageError(
      `--expires must be a date such as 2027-01-31 or 2027-01-31T18:00:00Z, not "${expires}".`,
    );
  }
  if (expires !== undefined && Date.parse(expires) <= now) {
    throw new UsageError(`--expires must be in the future, not ${expires}.`);
  }
  if (priority !== undefined && priority !== "batch") {
    throw new UsageError(`--priority must be batch, not "${priority}".`);
  }
  return {
    ...(project !== undefined && { project }),
    ...(expires !== undefined && { expiresAt: Date.parse(expires) }),
    ...(parameters !== undefined && { parameters: readParameters(parameters) }),
    ...(priority !== undefined && { priority }),
    ...(values["show-cost"] && { showCost: true }),
    ...readDefaults(values),
    ...readLimits(values),
    ...readBudget(values),
  };
}

function readParameters(given: string): NonNullable<KeySettings["parameters"]> {
  const { data } = parametersSchema.safeParse(given);
  if (data !== undefined) return data;
  const allowed = parametersSchema.options.join(", ");
  throw new UsageError(`--parameters must be one of ${allowed}, not "${given}".`);
}

/** Whether the models exist is not checked here: the gateway knows the models, and logs a warning. */
function readDefaults(values: SettingValues): Pick<KeySettings, "defaults"> {
  const given = modelKinds.flatMap((kind) => {
    const model = values[`default-${kind}`];
    return model === undefined ? [] : [[kind, model] as const];
  });
  for (const [kind, model] of given) {
    if (keyBody.shape.defaults.safeParse({ [kind]: model }).success) continue;
    throw new UsageError(`--default-${kind} must be a model id, not "${model}".`);
  }
  return given.length > 0 ? { defaults: Object.fromEntries(given) } : {};
}

function readLimits(values: SettingValues): Pick<KeySettings, "limits"> {
  const limits: { -readonly [name in keyof Limits]: number } = {};
  for (const { argument, name, isWhole } of limitOptions) {
    const given = values[argument];
    if (given === undefined) continue;
    const number = toNumber(given);
    if (!keyBody.shape.limits.safeParse({ [name]: number }).success) {
      const what = isWhole ? "a whole number" : "a number";
      throw new UsageError(`--${argument} must be ${what} above 0, not "${given}".`);
    }
    limits[name] = number;
  }
  return Object.keys(limits).length > 0 ? { limits } : {};
}

function readBudget(values: SettingValues): Pick<KeySettings, "budget"> {
  const given = periods.flatMap((period) => {
    const amount = values[`budget-${period}`];
    return amount === undefined ? [] : [[period, amount] as const];
  });
  const unknownPrice = values["unknown-price"];
  if (given.length === 0 && unknownPrice === undefined) return {};
  for (const [period, amount] of given) {
    if (keyBody.shape.budget.safeParse({ [period]: toNumber(amount) }).success) continue;
    throw new UsageError(
      `--budget-${period} must be US dollars, a number from 0 to 1000000000, not "${amount}".`,
    );
  }
  const dollars = Object.fromEntries(given.map(([period, amount]) => [period, toNumber(amount)]));
  const { data } = keyBody.shape.budget.safeParse({
    ...dollars,
    ...(unknownPrice && { unknownPrice }),
  });
  if (!data || unknownPrice === "") {
    throw new UsageError(`--unknown-price must be allow or refuse, not "${unknownPrice}".`);
  }
  return budgetOf(data);
}

const toNumber = (given: string): number => (given.trim() === "" ? Number.NaN : Number(given));

export const describeLimits = (limits: Limits = {}): string =>
  limitOptions
    .flatMap(({ name, unit }) => (limits[name] === undefined ? [] : `${limits[name]} ${unit}`))
    .join(", ");

export const describeDefaults = ({ embedding, image }: KeySettings["defaults"] = {}): string =>
  [embedding, image].filter((model) => model !== undefined).join(", ");

export function describeBudget(budget: Budget | undefined): string {
  if (!budget) return "";
  const amounts = periods.flatMap((period) =>
    budget[period] === undefined
      ? []
      : `$${budget[period]} ${period === "total" ? "in total" : `per ${period}`}`,
  );
  return [...amounts, ...(budget.unknownPrice === "refuse" ? ["known prices only"] : [])].join(
    ", ",
  );
}
