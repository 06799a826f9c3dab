/** The interface of a CLI command, and what commands share: arguments, settings, tables. */

import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { didYouMean } from "../server/lib/edit-distance.ts";
import { ownCommand } from "../server/process/own-command.ts";
import { readSettings, type Settings, SettingsError } from "../server/settings.ts";
import { onOneLine } from "./write.ts";

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  /** Returns the exit code. */
  run(args: readonly string[]): Promise<number>;
}

/** Invalid arguments or settings: one line on standard error, which names the help, and exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly about: "arguments" | "settings";

  constructor(message: string, about: UsageError["about"] = "arguments") {
    super(message);
    this.about = about;
  }
}

/** Throws UsageError for an unknown option, a missing value, and a value that the option does not take. */
export function readArguments<T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
) {
  const { tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const named: string[] = [];
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    checkOption(token, args[token.index] ?? token.rawName, options);
    // `--name=value`, because strict parsing refuses a separate value that begins with "-", such as -1.
    named.push(token.value === undefined ? token.rawName : `${token.rawName}=${token.value}`);
  }
  return parseArgs({
    args: [...named, "--", ...positionals],
    options,
    allowPositionals: true,
    strict: true,
  });
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

/** `given`: the argument as it was typed. */
function checkOption(
  { name, rawName, value, inlineValue }: OptionToken,
  given: string,
  options: ParseArgsOptionsConfig,
): void {
  if (!Object.hasOwn(options, name)) {
    // The whole argument, because the parser splits -port into -p, -o, -r and -t.
    const [typed = given] = given.split("=");
    const known = [...Object.keys(options), "help", "version"];
    const meant = didYouMean(typed.replace(/^-+/, ""), known, showOption);
    throw new UsageError(`unknown option ${typed}${meant}.`);
  }
  if (options[name]?.type === "boolean") {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value.`);
    return;
  }
  if (value === undefined) throw new UsageError(`${rawName} needs a value.`);
  if (!inlineValue && /^-[^\d.]/.test(value)) {
    throw new UsageError(
      `${rawName} needs a value. If the value is ${value}, write ${rawName}=${value}.`,
    );
  }
}

/** The version is that of the program: the commands have no such option. */
const showOption = (name: string): string =>
  name === "version" ? ownCommand("--version") : `--${name}`;

/** The error for a word that is no action of the command. */
export function unknownAction(
  action: string | undefined,
  actions: readonly [string, string, ...string[]],
): UsageError {
  const quoted = actions.map((each) => JSON.stringify(each));
  const expected = `expected ${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
  if (!action) return new UsageError(`${expected}.`);
  const meant = didYouMean(action, actions, (own) => JSON.stringify(own));
  return new UsageError(`${expected}, not ${JSON.stringify(action)}${meant}.`);
}

/**
 * The argument or the variable that names the configuration file. Undefined if the path is the default. `argument`: the
 * name of the command's option for it (empty: an argument without a name), and `given` its value.
 */
export function configNamedBy(argument: string, given: string | undefined): string | undefined {
  if (given !== undefined) return given === "" ? undefined : argument;
  return process.env.VEXEL_CONFIG ? "VEXEL_CONFIG" : undefined;
}

export function settingsOrUsage(
  overrides: Readonly<Record<string, string | undefined>> = {},
): Settings {
  try {
    return readSettings({ ...process.env, ...withoutUndefined(overrides) });
  } catch (error) {
    if (error instanceof SettingsError)
      throw new UsageError(namingOptions(error.message, overrides), "settings");
    throw error;
  }
}

/** The options that override settings. */
const options: Readonly<Record<string, string>> = {
  PORT: "--port",
  HOST: "--host",
  VEXEL_DATA: "--data",
};

/** Names the option that was given instead of the setting that it overrides. */
const namingOptions = (
  message: string,
  overrides: Readonly<Record<string, string | undefined>>,
): string =>
  message.replace(/^([A-Z_]+)=/gm, (text, name: string) =>
    overrides[name] !== undefined && options[name] ? `${options[name]} ` : text,
  );

const withoutUndefined = (given: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** Rows as text with aligned columns. */
export function table(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(onOneLine));
  const widths = (rows[0] ?? []).map((_, at) =>
    rows.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), 0),
  );
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
