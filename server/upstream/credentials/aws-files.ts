/** Reads ~/.aws/config and ~/.aws/credentials. */
import { join } from "node:path";
import type { Environment } from "../adapter.ts";
import { homeOf, readOptionalFile } from "./credential-file.ts";

export type Section = Readonly<Record<string, string>>;
/** By name, such as `profile default` and `sso-session corp`. */
export type Sections = ReadonlyMap<string, Section>;

export async function readProfiles(env: Environment): Promise<Sections> {
  const folder = join(homeOf(env), ".aws");
  const config = await readOptionalFile(env.AWS_CONFIG_FILE || join(folder, "config"), "file");
  const path = env.AWS_SHARED_CREDENTIALS_FILE || join(folder, "credentials");
  const credentials = await readOptionalFile(path, "file");
  const sections = new Map<string, Section>();
  for (const [name, section] of parseIni(config ?? "")) {
    sections.set(name === "default" ? "profile default" : name, section);
  }
  for (const [name, section] of parseIni(credentials ?? "")) {
    const key = `profile ${name}`;
    sections.set(key, { ...sections.get(key), ...section });
  }
  return sections;
}

/** Indented lines belong to the value before them, such as `s3 =`, and are not needed here. */
function parseIni(text: string): Sections {
  const sections = new Map<string, Record<string, string>>();
  let section: Record<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const title = /^\[\s*([^\]]+?)\s*\]/.exec(line)?.[1];
    if (title !== undefined) {
      const name = title.replace(/\s+/g, " ").replace(/^(\S+ )"(.*)"$/, "$1$2");
      section = sections.get(name) ?? {};
      sections.set(name, section);
    } else if (section && /^[^\s#;]/.test(line)) {
      const [key = "", ...value] = line.split("=");
      section[key.trim().toLowerCase()] = value
        .join("=")
        .replace(/\s[#;].*$/, "")
        .trim();
    }
  }
  return sections;
}
