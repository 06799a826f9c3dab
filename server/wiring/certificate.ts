/** Wires TLS: reads the certificate at the start, and reloads a renewed certificate without a restart. */
import {
  type Certificate,
  type CertificateFiles,
  readCertificate,
  watchCertificate,
} from "../http/certificate.ts";
import type { Settings } from "../settings.ts";
import type { Runtime } from "./runtime.ts";

/** The certificate of the settings, read and checked. Undefined: plain HTTP. */
export interface ConfiguredCertificate {
  readonly files: CertificateFiles;
  readonly first: Certificate;
}

/** Throws CertificateError. */
export function readConfiguredCertificate({
  VEXEL_TLS_CERT: certPath,
  VEXEL_TLS_KEY: keyPath,
}: Pick<Settings, "VEXEL_TLS_CERT" | "VEXEL_TLS_KEY">): ConfiguredCertificate | undefined {
  if (certPath === "") return undefined;
  const files = { certPath, keyPath };
  return { files, first: readCertificate(files) };
}

export interface CertificateWiring {
  /** The current certificate. Absent: plain HTTP. */
  readonly tls?: () => Certificate;
  /** Why the files were not applied. Undefined: the files are in force. */
  problem(): string | undefined;
}

export function wireCertificate(
  { log, emit, now, resources }: Runtime,
  configured: ConfiguredCertificate | undefined,
): CertificateWiring {
  if (!configured) return { problem: () => undefined };
  let current: string | undefined;
  const watcher = watchCertificate({
    ...configured,
    now,
    reloaded: ({ validTo }) => {
      current = undefined;
      log.info("certificate-reloaded", { validTo });
      emit({ type: "config.reloaded", data: { changes: "TLS certificate renewed" } });
    },
    rejected: (problem) => {
      current = problem;
      log.error("certificate-rejected", { reason: problem });
      emit({ type: "config.rejected", data: { problems: [problem] } });
    },
  });
  resources.defer(watcher.close);
  return { tls: watcher.current, problem: () => current };
}
