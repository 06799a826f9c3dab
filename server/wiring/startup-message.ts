/** What a newcomer sees on the terminal: where it is, the key, and a line that works when pasted. */
import type { Snapshot } from "../config/snapshot.ts";

export interface WelcomeTextOptions {
  readonly url: string;
  readonly snapshot: Snapshot;
  /** Only when one was just made: it cannot be shown again. */
  readonly newKey: string | undefined;
}

export function welcomeText({ url, snapshot, newKey }: WelcomeTextOptions): string {
  const reach = url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
  const models = [...snapshot.models.values()];
  const sample = models.find(({ kind }) => kind === "embedding");
  const key = newKey ?? "$VEXEL_KEY";
  const body = sample
    ? { path: "embeddings", json: { model: sample.id, input: "a red boat" } }
    : { path: "images/generations", json: { model: models[0]?.id ?? "", prompt: "a red boat" } };
  const shown = models.slice(0, 8).map(({ id }) => id);
  const more = models.length > shown.length ? ` and ${models.length - shown.length} more` : "";
  return `
  Vexel is listening.

  Base URL  ${reach}/v1
  API key   ${newKey ? `${newKey}   (shown only now)` : `as made before (${snapshot.keys.size} in use); "npm start -- keys create" makes another`}
  Models    ${shown.join(", ")}${more}
  Browser   ${reach}/

  Try it:

  curl ${reach}/v1/${body.path} \\
    -H "Authorization: Bearer ${key}" \\
    -H "Content-Type: application/json" \\
    -d ${quoted(JSON.stringify(body.json))}

`;
}

/** For a shell; a model's id may hold a quote. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
