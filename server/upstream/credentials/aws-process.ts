/** Keys that a program prints: `credential_process` of a profile. Only the files of the machine's owner name it. */
import { exec } from "node:child_process";
import type { AwsKeys, CredentialContext, Issued } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import { issuedKeys } from "./aws-keys.ts";
import { refused } from "./request-credential.ts";

const maxBytes = 64 * 1024;

export async function processKeys(
  { env, signal, now }: CredentialContext,
  command: string,
): Promise<Issued<AwsKeys>> {
  const printed = await run(command, env, signal);
  let body: unknown;
  try {
    body = JSON.parse(printed);
  } catch {
    throw refused("credential_process printed no JSON");
  }
  if (memberOf(body, "Version") !== 1) throw refused("credential_process printed no Version 1");
  return issuedKeys(
    {
      accessKeyId: memberOf(body, "AccessKeyId"),
      secretAccessKey: memberOf(body, "SecretAccessKey"),
      sessionToken: memberOf(body, "SessionToken"),
      expiration: memberOf(body, "Expiration"),
    },
    now(),
    "credential_process",
  );
}

/** By the shell, as the AWS SDKs do. What it prints is never part of an error. */
function run(command: string, env: CredentialContext["env"], signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  exec(command, { env, signal, maxBuffer: maxBytes }, (error, stdout) => {
    if (error) reject(refused(`credential_process failed (${error.code ?? error.name})`));
    else resolve(stdout);
  });
  return promise;
}
