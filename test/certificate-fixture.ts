/** A self-signed certificate for a server in a test. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** `subject`: as in `IP:127.0.0.1` or `DNS:localhost`. */
export function selfSigned(folder: string, subject: string): Certificate {
  const files = ["-keyout", "key.pem", "-out", "cert.pem"];
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const name = ["-subj", "/CN=test", "-addext", `subjectAltName=${subject}`];
  const command = ["openssl", "req", "-x509", ...fresh, "-days", "2", ...name, ...files];
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: folder });
  if (exitCode !== 0) throw new Error(stderr.toString());
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  return { key: read("key.pem"), cert: read("cert.pem") };
}
