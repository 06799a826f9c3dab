/** Signs a JSON Web Token with an RSA key. */
import { constants, type KeyLike, sign } from "node:crypto";

type Algorithm = "RS256" | "PS256";

/** `key`: a private key in PEM. */
export function signJwt(
  alg: Algorithm,
  header: Readonly<Record<string, string>>,
  claims: Readonly<Record<string, unknown>>,
  key: KeyLike,
): string {
  const head = { alg, typ: "JWT", ...header };
  const text = `${encoded(JSON.stringify(head))}.${encoded(JSON.stringify(claims))}`;
  const signed =
    alg === "RS256"
      ? sign("RSA-SHA256", Buffer.from(text), key)
      : sign("sha256", Buffer.from(text), {
          key: key as string,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
        });
  return `${text}.${encoded(signed)}`;
}

const encoded = (content: string | Buffer): string => Buffer.from(content).toString("base64url");
