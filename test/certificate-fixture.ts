/** A self-signed certificate for a server in a test. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "./programs.ts";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** `subject`: as in `IP:127.0.0.1` or `DNS:localhost`. */
export const selfSigned = (folder: string, subject: string): Certificate =>
  createCertificate(folder, ["-addext", `subjectAltName=${subject}`]);

/** The key is of the curve P-256, unless `options` of `openssl req` name another. */
export function createCertificate(folder: string, options: readonly string[]): Certificate {
  const files = ["-keyout", "key.pem", "-out", "cert.pem"];
  const fresh = options.includes("-newkey")
    ? []
    : ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  openssl(folder, [
    ...["req", "-x509", ...fresh, "-nodes", "-days", "2", "-subj", "/CN=test"],
    ...options,
    ...files,
  ]);
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  return { key: read("key.pem"), cert: read("cert.pem") };
}

/** Returns what the command prints. */
export function openssl(folder: string, command: readonly string[], input = ""): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([pathOf("openssl"), ...command], {
    cwd: folder,
    stdin: Buffer.from(input),
  });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString();
}
