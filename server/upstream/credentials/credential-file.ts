/** Reads a file with a credential. The error names the file and never quotes it. */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { errorCode } from "../../lib/error-code.ts";
import type { Environment } from "../adapter.ts";
import { refused } from "./request-credential.ts";

const maxBytes = 1024 * 1024;

export async function readCredentialFile(path: string, name: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw refused(`${name} ${path} cannot be read (${errorCode(error)})`);
  });
  if (text.length > maxBytes) throw refused(`${name} ${path} is too large`);
  return text;
}

export async function readJsonFile(path: string, name: string): Promise<unknown> {
  const text = await readCredentialFile(path, name);
  try {
    return JSON.parse(text);
  } catch {
    throw refused(`${name} ${path} is not JSON`);
  }
}

export const homeOf = ({ HOME }: Environment): string => HOME ?? homedir();
