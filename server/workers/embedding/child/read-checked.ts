/** Reads a weights file and verifies its SHA-256 checksum. */
import { readFile } from "node:fs/promises";
import { GatewayError } from "../../../lib/gateway-error.ts";

/** Wrong weights would give plausible but wrong vectors. */
export async function readChecked(path: string, sha256: string): Promise<Uint8Array> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new GatewayError("upstream_error", `${path} cannot be read.`, { cause });
  });
  const digest = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  if (digest === sha256) return bytes;
  const message = `${path} is damaged, or not the expected file: its sha256 is ${digest}, not ${sha256}. Install it again.`;
  throw new GatewayError("upstream_error", message);
}
