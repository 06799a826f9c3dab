/**
 * Tests the scheme of a URL. Schemes are case-insensitive (RFC 3986, section 3.1): `DATA:image/png;base64,…` and
 * `HTTPS://…` are valid.
 */

export const isHttpUrl = (url: string): boolean => /^https?:\/\//i.test(url);

export const isDataUrl = (url: string): boolean => /^data:/i.test(url);

/** A link, or a data URL that declares an image. */
export const imageUrlPattern = /^(https:\/\/|http:\/\/|data:image\/)/i;
export const isImageUrl = (url: string): boolean => imageUrlPattern.test(url);

interface InlineImage {
  /** The declared media type, in lower case. */
  readonly type: string;
  readonly base64: string;
}

/**
 * The parts of a data URL that declares a base64 image, also with parameters: `data:image/png;name=a.png;base64,…`.
 * Undefined for every other URL.
 */
export function splitInlineImage(url: string): InlineImage | undefined {
  const [head, type] = /^data:(image\/[\w.+-]+)(?:;[^;,]{0,200}){0,8};base64,/i.exec(url) ?? [];
  if (head === undefined || type === undefined) return undefined;
  return { type: type.toLowerCase(), base64: url.slice(head.length) };
}
