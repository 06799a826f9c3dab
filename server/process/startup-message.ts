/**
 * Startup message on standard output: base URL, API key, models, and a curl command that works as it is. With
 * `VEXEL_LOG_FORMAT=json`, a log line without secrets instead.
 */
import { missingPartWarnings } from "../config/build/config-warnings.ts";
import type { Model, Snapshot } from "../config/snapshot.ts";
import { missingLib } from "../lib/executable.ts";
import type { Fields } from "../lib/log.ts";
import { ownCommand } from "./own-command.ts";

interface StartupMessageOptions {
  readonly url: string;
  readonly snapshot: Snapshot;
  /** Set only if the key was just created: it cannot be shown again. */
  readonly newKey: string | undefined;
  /** The path of the console, or of its one-time link while it has no user. Undefined if the console is off. */
  readonly consolePath?: string | undefined;
}

export function startupMessage({
  url,
  snapshot,
  newKey,
  consolePath,
}: StartupMessageOptions): string {
  const clientUrl = url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
  const models = [...snapshot.models.values()];
  const apiKey = newKey
    ? `${newKey}   (shown only once)`
    : `${snapshot.keys.size} in use; create another with "${ownCommand("keys create --name NAME")}"`;
  const listed = models.slice(0, 8).map(({ id }) => id);
  const more = models.length > listed.length ? ` and ${models.length - listed.length} more` : "";
  const warnings = missingPartWarnings(snapshot, missingLib);
  return `
  Vexel is listening.

  Base URL  ${clientUrl}/v1
  API key   ${apiKey}
  Models    ${listed.join(", ") || "none"}${more}${consoleLine(clientUrl, consolePath)}
${warnings.map((warning) => `\n  Warning: ${warning}.\n`).join("")}${tryIt(clientUrl, models, newKey)}
`;
}

/** The fields of the log line `listening`. */
export function listeningFields(
  url: string,
  { keys, models }: Snapshot,
  consolePath: string | undefined,
): Fields {
  const needsSetup = consolePath?.includes("#") ?? false;
  return {
    url,
    models: models.size,
    keys: keys.size,
    ...(keys.size === 0 && { createKey: ownCommand("keys create --name NAME") }),
    ...(needsSetup && { createAdministrator: ownCommand("setup-link") }),
  };
}

/** A curl command for the first embedding model, or else for the first model. Without models, there is none. */
function tryIt(clientUrl: string, models: readonly Model[], newKey: string | undefined): string {
  const model = models.find(({ kind }) => kind === "embedding") ?? models[0];
  if (!model) return "";
  const [path, body] =
    model.kind === "embedding"
      ? ["embeddings", { model: model.id, input: "a red boat" }]
      : ["images/generations", { model: model.id, prompt: "a red boat" }];
  return `
  Try it:

  curl ${clientUrl}/v1/${path} \\
    -H "Authorization: Bearer ${newKey ?? "$VEXEL_KEY"}" \\
    -H "Content-Type: application/json" \\
    -d ${shellQuoted(JSON.stringify(body))}
`;
}

const consoleLine = (clientUrl: string, path: string | undefined): string => {
  if (path === undefined) return "";
  // The one-time link has its token after the number sign.
  return `\n  Console   ${clientUrl}${path}${path.includes("#") ? "   (creates the first administrator, works once)" : ""}`;
};

/** Quoted for a shell: a model id may contain a quote. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
