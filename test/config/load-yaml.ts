/** Loads a text as vexel.yaml. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Loaded,
  type LoadOptions,
  loadSnapshot,
} from "../../server/config/build/load-snapshot.ts";
import { describeProblems } from "../../server/config/yaml/problem.ts";

type Options = Partial<Omit<LoadOptions, "path">>;

function load(text: string | Uint8Array, options: Options): { loaded: Loaded; printed: string } {
  const folder = mkdtempSync(join(tmpdir(), "vexel-config-"));
  try {
    const path = join(folder, "vexel.yaml");
    writeFileSync(path, text);
    const loaded = loadSnapshot({ path, env: {}, ...options });
    const printed = loaded.ok ? "" : describeProblems(loaded.problems);
    return { loaded, printed: printed.replaceAll(`${folder}/`, "") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Throws the problems of a file that is refused. */
export function loadYaml(
  text: string | Uint8Array,
  options: Options = {},
): Extract<Loaded, { readonly ok: true }> {
  const { loaded, printed } = load(text, options);
  if (!loaded.ok) throw new Error(printed);
  return loaded;
}

/** The problems as printed, without the folder, one per line. Empty: the file is accepted. */
export const problemsOf = (text: string | Uint8Array, options: Options = {}): string =>
  load(text, options).printed;
