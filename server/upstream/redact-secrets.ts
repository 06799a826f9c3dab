/**
 * Redacts secrets from the message of a vendor, which may repeat the request: as they were sent, percent-encoded, or in
 * base64, also as a part of a longer text, such as the password of basic authentication.
 */

export function redactSecrets(text: string, secrets: readonly string[], mask: string): string {
  let safe = text;
  for (const secret of secrets) {
    for (const form of plainForms(secret)) safe = safe.replaceAll(form, mask);
    for (const part of base64Parts(secret)) safe = redactRun(safe, part, mask);
  }
  return safe;
}

function plainForms(secret: string): Iterable<string> {
  const encoded = encodeURIComponent(secret.toWellFormed());
  return new Set([secret, encoded, encoded.replace(/%../g, (code) => code.toLowerCase())]);
}

/** Shorter parts occur by chance. */
const shortestPart = 6;

/**
 * Of each of the three places that a secret can have in groups of three bytes, the characters that depend on the secret
 * only; in both alphabets.
 */
function base64Parts(secret: string): Iterable<string> {
  const bytes = Buffer.from(secret);
  const parts = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64url");
    // A character has six bits: those with bits of other bytes are left out.
    const part = text.slice(
      Math.ceil((before * 8) / 6),
      Math.floor(((before + bytes.length) * 8) / 6),
    );
    return [part, part.replaceAll("-", "+").replaceAll("_", "/")];
  });
  return new Set(parts.filter((part) => part.length >= shortestPart));
}

const isBase64 = (character: string | undefined): boolean =>
  character !== undefined && /[\w+/=-]/.test(character);

/** Redacts the whole base64 text around each occurrence of the part. */
function redactRun(text: string, part: string, mask: string): string {
  let safe = text;
  for (let at = safe.indexOf(part); at !== -1; at = safe.indexOf(part, at)) {
    let [start, end] = [at, at + part.length];
    while (isBase64(safe[start - 1]) && safe[start - 1] !== "=") start--;
    while (isBase64(safe[end])) end++;
    safe = safe.slice(0, start) + mask + safe.slice(end);
    at = start + mask.length;
  }
  return safe;
}
