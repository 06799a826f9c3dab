/**
 * The TLS certificate: read from two PEM files, checked, and reloaded when the files change. Client certificates (mTLS)
 * are not requested.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Emit } from "../../contract/events.ts";
import { errorCode, errorMessage } from "../lib/error-code.ts";
import type { Log } from "../lib/log.ts";
import { pollFiles } from "../lib/poll-files.ts";

export interface CertificateFiles {
  readonly certPath: string;
  readonly keyPath: string;
}

/** In PEM format. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** When it expires, as a date. */
  readonly validTo: string;
}

/** The message names the file and never quotes its content: it may be a private key. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
}

/** The beginning of a PEM block. OpenSSL finds it only at the beginning of a line. */
const blockStart = /^(?=-----BEGIN )/m;
const certificateStart = /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;
/**
 * TLS clients refuse shorter keys, and a key below 528 bits is too short to sign a handshake (RSA-PSS with SHA-256).
 */
const minRsaBits = 1024;

/** Throws CertificateError unless TLS handshakes can use both files, with every certificate of the chain. */
export function readCertificate(files: CertificateFiles): Certificate {
  const { certPath, keyPath } = files;
  const cert = readText(certPath, "VEXEL_TLS_CERT");
  const key = readText(keyPath, "VEXEL_TLS_KEY");
  const own = parseChain(cert, certPath);
  if (!own.checkPrivateKey(parsePrivateKey(key, keyPath))) {
    throw new CertificateError(
      `The private key in ${keyPath} (VEXEL_TLS_KEY) does not belong to the certificate in ${certPath} (VEXEL_TLS_CERT). The first certificate in that file must be the server's own.`,
    );
  }
  checkTlsContext({ cert, key }, files);
  return { cert, key, validTo: own.validTo };
}

function readText(path: string, setting: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new CertificateError(`${setting}=${path} cannot be read (${errorCode(error)}).`);
  }
  if (text.trim() === "") throw new CertificateError(`${setting}=${path} is empty.`);
  // BoringSSL would ignore the rest of the file. Text in UTF-16 has such bytes, too.
  if (text.includes("\0")) {
    throw new CertificateError(`${setting}=${path} is not in PEM format: it has a NUL byte.`);
  }
  return text;
}

/** Returns the first certificate, the server's own. */
function parseChain(cert: string, path: string): X509Certificate {
  const blocks = cert.split(blockStart).filter((block) => certificateStart.test(block));
  const chain = blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw new CertificateError(
        `VEXEL_TLS_CERT=${path}: certificate ${index + 1} of ${blocks.length} is incomplete or damaged (${opensslReason(error)}).`,
      );
    }
  });
  const [own] = chain;
  if (own) return own;
  throw new CertificateError(`VEXEL_TLS_CERT=${path} is not a certificate in PEM format.`);
}

function parsePrivateKey(key: string, path: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    throw new CertificateError(
      `VEXEL_TLS_KEY=${path} is encrypted. Store the private key without a passphrase, readable by the gateway only.`,
    );
  }
  let parsed: KeyObject;
  try {
    parsed = createPrivateKey(key);
  } catch (error) {
    throw new CertificateError(
      opensslReason(error) === "UNSUPPORTED_ALGORITHM"
        ? `VEXEL_TLS_KEY=${path} has an unsupported type of private key. Use RSA, ECDSA (P-256, P-384 or P-521) or Ed25519.`
        : `VEXEL_TLS_KEY=${path} is not a private key in PEM format.`,
    );
  }
  const { modulusLength: bits = minRsaBits } = parsed.asymmetricKeyDetails ?? {};
  if (bits >= minRsaBits) return parsed;
  throw new CertificateError(
    `VEXEL_TLS_KEY=${path} is an RSA key of ${bits} bits. TLS needs ${minRsaBits} bits or more.`,
  );
}

/**
 * Builds the TLS context that every connection builds. It fails for what the parsers accept: curves that TLS does not
 * have, a key usage that does not allow handshakes, or an incomplete PEM block of another kind among the certificates.
 */
function checkTlsContext(pair: Pick<Certificate, "cert" | "key">, files: CertificateFiles): void {
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new CertificateError(
      `The certificate in ${files.certPath} (VEXEL_TLS_CERT) and its key in ${files.keyPath} (VEXEL_TLS_KEY) cannot be used for TLS (${opensslReason(error)}).`,
    );
  }
}

/** The reason at the end of an error of OpenSSL or BoringSSL, such as BAD_END_LINE. It quotes nothing of the file. */
const opensslReason = (error: unknown): string =>
  /:(\w+)$/.exec(error instanceof Error ? error.message : "")?.[1] ?? errorCode(error);

const expired = ({ certPath }: CertificateFiles, { validTo }: Certificate): CertificateError =>
  new CertificateError(`The certificate in ${certPath} (VEXEL_TLS_CERT) expired on ${validTo}.`);

interface WatchCertificateOptions {
  readonly files: CertificateFiles;
  /** The certificate that was read at the start. */
  readonly first: Certificate;
  readonly log: Pick<Log, "info" | "error">;
  readonly emit: Emit;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface WatchedCertificate {
  /** The newest valid certificate. */
  current(): Certificate;
  /** Why the files were not applied: the previous certificate stays. Undefined if the files are in force. */
  problem(): string | undefined;
  close(): void;
}

/** Reloads a renewed certificate without a restart. */
export function watchCertificate(options: WatchCertificateOptions): WatchedCertificate {
  const { files, log, emit, now } = options;
  let current = options.first;
  let problem: string | undefined;
  const hasExpired = ({ validTo }: Certificate): boolean => Date.parse(validTo) < now();
  const poll = pollFiles({
    paths: [files.certPath, files.keyPath],
    onChange: async () => {
      try {
        const next = readCertificate(files);
        // Clients refuse it. At the start there is no better certificate.
        if (hasExpired(next) && !hasExpired(current)) throw expired(files, next);
        const isSame = next.cert === current.cert && next.key === current.key;
        if (problem === undefined && isSame) return;
        problem = undefined;
        current = next;
        log.info("certificate-reloaded", { validTo: next.validTo });
        emit({ type: "config.reloaded", data: { changes: "TLS certificate renewed" } });
      } catch (error) {
        problem = errorMessage(error);
        log.error("certificate-rejected", { reason: problem });
        emit({ type: "config.rejected", data: { problems: [problem] } });
      }
    },
  });
  return { current: () => current, problem: () => problem, close: poll.close };
}
