/** The certificate of an app registration: its thumbprint names it, and its private key signs assertions. */
import { createPrivateKey, X509Certificate } from "node:crypto";

export interface Certificate {
  /** PEM. */
  readonly privateKey: string;
  /** SHA-256 of the certificate, in base64url: `x5t#S256` of RFC 7515. */
  readonly thumbprint: string;
}

/** Undefined if the text has no certificate, or no RSA key that belongs to it. */
export function readCertificate(text: string): Certificate | undefined {
  const blocks = [...text.matchAll(/-----BEGIN ([A-Z ]+)-----([^-]+)-----END \1-----/g)];
  const pem = (ending: string): string | undefined => {
    const block = blocks.find(([, label]) => label?.endsWith(ending));
    // A password field removes line breaks, and a variable may hold them as `\n`.
    const content = block?.[2]?.replaceAll("\\n", "").replace(/\s+/g, "");
    const lines = content?.match(/.{1,64}/g)?.join("\n");
    return lines && `-----BEGIN ${block?.[1]}-----\n${lines}\n-----END ${block?.[1]}-----\n`;
  };
  const [certificatePem, privateKey] = [pem("CERTIFICATE"), pem("PRIVATE KEY")];
  if (certificatePem === undefined || privateKey === undefined) return undefined;
  try {
    const certificate = new X509Certificate(certificatePem);
    const key = createPrivateKey(privateKey);
    if (key.asymmetricKeyType !== "rsa" || !certificate.checkPrivateKey(key)) return undefined;
    const thumbprint = Buffer.from(certificate.fingerprint256.replaceAll(":", ""), "hex");
    return { privateKey, thumbprint: thumbprint.toString("base64url") };
  } catch {
    return undefined;
  }
}
