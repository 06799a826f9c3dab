/** The interface of a CLI command, and what commands share: arguments, settings, tables. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { readSettings, type Settings, SettingsError } from "../server/settings.ts";

export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly help: string;
  /** Returns the exit code. */
  run(args: readonly string[]): Promise<number>;
}

/** Invalid arguments: the help is printed to standard error and the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function readArguments<T extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: T,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

export function settingsOrUsage(
  overrides: Readonly<Record<string, string | undefined>> = {},
): Settings {
  try {
    return readSettings({ ...process.env, ...withoutUndefined(overrides) });
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message);
    throw error;
  }
}

const withoutUndefined = (given: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** Rows as text with aligned columns. */
export function table(rows: readonly (readonly string[])[]): string {
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
