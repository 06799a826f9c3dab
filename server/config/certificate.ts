/**
 * The TLS certificate: read from two PEM files, checked, and reloaded when the files change (certificate reload,
 * rotation). Client certificates (mTLS) are not requested.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { errorCode } from "../lib/error-code.ts";
import { pollFiles } from "./poll-files.ts";

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

/** Throws CertificateError. */
export function readCertificate({ certPath, keyPath }: CertificateFiles): Certificate {
  const cert = readText(certPath, "VEXEL_TLS_CERT");
  const key = readText(keyPath, "VEXEL_TLS_KEY");
  const parsed = parseCertificate(cert, certPath);
  if (!parsed.checkPrivateKey(parsePrivateKey(key, keyPath))) {
    throw new CertificateError(
      `The private key in ${keyPath} (VEXEL_TLS_KEY) does not belong to the certificate in ${certPath} (VEXEL_TLS_CERT). The first certificate in that file must be the server's own.`,
    );
  }
  return { cert, key, validTo: parsed.validTo };
}

function readText(path: string, setting: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CertificateError(`${setting}=${path} cannot be read (${errorCode(error)}).`);
  }
}

function parseCertificate(cert: string, path: string): X509Certificate {
  try {
    return new X509Certificate(cert);
  } catch {
    throw new CertificateError(`VEXEL_TLS_CERT=${path} is not a certificate in PEM format.`);
  }
}

function parsePrivateKey(key: string, path: string): ReturnType<typeof createPrivateKey> {
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    throw new CertificateError(
      `VEXEL_TLS_KEY=${path} is encrypted. Store the private key without a passphrase, readable by the gateway only.`,
    );
  }
  try {
    return createPrivateKey(key);
  } catch {
    throw new CertificateError(`VEXEL_TLS_KEY=${path} is not a private key in PEM format.`);
  }
}

export interface WatchCertificateOptions {
  readonly files: CertificateFiles;
  /** The certificate that was read at the start. */
  readonly first: Certificate;
  /** The files have changed, or are valid again: the certificate is in force. */
  reloaded(certificate: Certificate): void;
  /** The files have changed and are invalid: the previous certificate stays. */
  rejected(problem: string): void;
}

/** `current`: the newest valid certificate. */
export function watchCertificate({ files, first, reloaded, rejected }: WatchCertificateOptions): {
  current(): Certificate;
  close(): void;
} {
  let current = first;
  let hasFailed = false;
  const poll = pollFiles({
    paths: [files.certPath, files.keyPath],
    onChange: async () => {
      try {
        const next = readCertificate(files);
        if (!hasFailed && next.cert === current.cert && next.key === current.key) return;
        hasFailed = false;
        current = next;
      } catch (error) {
        hasFailed = true;
        rejected(error instanceof Error ? error.message : String(error));
        return;
      }
      reloaded(current);
    },
  });
  return { current: () => current, close: poll.close };
}
