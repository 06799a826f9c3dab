/**
 * Entries of `input` of several kinds: strings, token arrays, and objects with images, `{content: [{type: "text",
 * text}, {type: "image_url", image_url: {url}}]}`, as OpenRouter defines it, and the shorter forms of other vendors.
 * Reached only if the entries are not all strings or all token arrays.
 */
import { describeType } from "../http/validation-error.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { imageSize, sniffImage, sniffLength } from "../lib/sniff-image.ts";
import { isDataUrl, isHttpUrl, splitInlineImage } from "../lib/url-scheme.ts";
import { maxTextLength } from "../request/max-text-length.ts";
import type { EmbeddingInput, InputEntry, InputPart, LinkedImage } from "../upstream/contract.ts";
import { imageCount, isImagePart, withEntries } from "../upstream/mixed-input.ts";

/** The most images of one request. Each is held on disk or in memory until the request ends. */
const maxRequestImages = 256;
/** The most parts of one entry. */
const maxParts = 256;

const text = { type: "string", minLength: 1, maxLength: maxTextLength } as const;
const role = { type: "string", description: "Ignored." } as const;
const url = {
  type: "string",
  description: "A data: URL, an https link, or a link to an image of this gateway.",
  pattern: "^([Dd][Aa][Tt][Aa]:|[Hh][Tt][Tt][Pp][Ss]?://|/files/images/)",
} as const;

const textPartSchema = {
  type: "object",
  required: ["type", "text"],
  additionalProperties: false,
  properties: { type: { const: "text" }, text },
} as const;

const imagePartSchema = {
  type: "object",
  required: ["type", "image_url"],
  additionalProperties: false,
  properties: {
    type: { const: "image_url" },
    image_url: {
      anyOf: [
        {
          type: "object",
          required: ["url"],
          additionalProperties: false,
          properties: { url, detail: { const: "auto", description: "Without effect." } },
        },
        url,
      ],
    },
  },
} as const;

/** For the OpenAPI document. */
export const entrySchema = {
  description: "Texts and images that the model fuses into one vector, in order.",
  anyOf: [
    {
      type: "object",
      required: ["content"],
      additionalProperties: false,
      properties: {
        role,
        content: {
          anyOf: [
            text,
            {
              type: "array",
              minItems: 1,
              maxItems: maxParts,
              items: { anyOf: [textPartSchema, imagePartSchema] },
              // Several texts need an image beside them.
              anyOf: [{ maxItems: 1 }, { contains: { type: "object", required: ["image_url"] } }],
            },
          ],
        },
      },
    },
    {
      type: "object",
      anyOf: [{ required: ["text"] }, { required: ["image"] }],
      additionalProperties: false,
      properties: {
        role,
        text,
        image: {
          type: "string",
          description: "As `url`, or base64 without a prefix.",
          pattern: `${url.pattern}|^(?![A-Za-z][A-Za-z0-9+.-]{0,30}:)`,
        },
      },
    },
  ],
} as const;

/** `list`: not more than the maximum number of inputs. Throws GatewayError. */
export function readEntries(list: readonly unknown[]): EmbeddingInput {
  const entries: InputEntry[] = [];
  let images = 0;
  for (const [at, given] of list.entries()) {
    const entry = readEntry(given, at);
    images += imageCount(entry);
    if (images > maxRequestImages) {
      throw invalidInput(
        `It has more than ${maxRequestImages} images; send them in several requests.`,
      );
    }
    entries.push(entry);
  }
  return withEntries(entries);
}

function readEntry(given: unknown, at: number): InputEntry {
  if (typeof given === "string") return { parts: [textPart(given, at)] };
  if (Array.isArray(given)) {
    checkTokenArray(given, at);
    return { parts: [{ kind: "tokens", tokens: given as number[] }] };
  }
  if (typeof given !== "object" || given === null) {
    throw invalidEntry(
      at,
      `is ${describeType(given)}; send strings, arrays of tokens, or objects with 'content'`,
    );
  }
  const { role, content, text, image, ...others } = withoutNulls(given);
  refuseUnknown(others, at);
  if (role !== undefined && typeof role !== "string")
    throw invalidEntry(at, "has an invalid 'role'");
  if (content !== undefined) {
    if (text !== undefined || image !== undefined) {
      throw invalidEntry(at, "has 'content' beside 'text' or 'image'. Send one of the two forms");
    }
    return { parts: readContent(content, at) };
  }
  const parts: InputPart[] = [];
  if (text !== undefined) parts.push(textPart(text, at));
  if (image !== undefined) parts.push(bareImage(image, at));
  if (parts.length === 0) {
    throw invalidEntry(
      at,
      'has no content. Send {"content": [...]}, {"text": "..."} or {"image": "..."}',
    );
  }
  return { parts };
}

export function checkTokenArray(list: readonly unknown[], at: number): void {
  if (list.length === 0) throw invalidEntry(at, "is an empty array");
  if (firstInvalidToken(list) >= 0)
    throw invalidEntry(at, "has an element that is not a token (an integer from 0)");
}

/** The index of the first element that is not a token; -1 if all are tokens. */
export function firstInvalidToken(list: readonly unknown[]): number {
  for (let index = 0; index < list.length; index++) {
    const element = list[index];
    if (!Number.isSafeInteger(element) || (element as number) < 0) return index;
  }
  return -1;
}

function readContent(content: unknown, at: number): readonly InputPart[] {
  if (typeof content === "string") return [textPart(content, at)];
  if (!Array.isArray(content)) {
    throw invalidEntry(at, `has 'content' that is ${describeType(content)}, not an array of parts`);
  }
  if (content.length === 0) throw invalidEntry(at, "has an empty 'content'");
  if (content.length > maxParts) {
    throw invalidEntry(at, `has ${content.length} parts; an entry may have at most ${maxParts}`);
  }
  const parts = content.map((part: unknown, index) => readPart(part, at, index));
  // Joined by the gateway, several texts would be another text than the client sent.
  if (parts.length > 1 && !parts.some(isImagePart)) {
    throw invalidEntry(at, "has several texts and no image. Join them, or send several entries");
  }
  return parts;
}

function readPart(given: unknown, at: number, index: number): InputPart {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw invalidEntry(at, `has a part (${index}) that is ${describeType(given)}, not an object`);
  }
  const { type, text, image_url: imageUrl, ...others } = withoutNulls(given);
  if (type === "text" && imageUrl === undefined) {
    refuseUnknown(others, at);
    return textPart(text, at);
  }
  if (type === "image_url" && text === undefined) {
    refuseUnknown(others, at);
    return linkPart(urlIn(imageUrl, at), `input[${at}].content[${index}].image_url`);
  }
  throw invalidEntry(
    at,
    `has a part (${index}) of an unsupported type. Supported are {"type": "text", "text": "..."} and {"type": "image_url", "image_url": {"url": "..."}}`,
  );
}

/** An object with `url`, or the URL itself, as at Voyage. */
function urlIn(imageUrl: unknown, at: number): string {
  if (typeof imageUrl === "string") return imageUrl;
  if (typeof imageUrl !== "object" || imageUrl === null)
    throw invalidEntry(at, "has no 'image_url'");
  const { url, detail, ...others } = withoutNulls(imageUrl);
  refuseUnknown(detail === "auto" || detail === undefined ? others : { detail }, at);
  if (typeof url === "string") return url;
  throw invalidEntry(at, "has an 'image_url' without 'url'");
}

function textPart(text: unknown, at: number): InputPart {
  if (typeof text !== "string") throw invalidEntry(at, `has a text that is ${describeType(text)}`);
  if (text === "") throw invalidEntry(at, "has an empty text");
  if (text.length > maxTextLength) {
    throw invalidEntry(
      at,
      `has a text of ${text.length} characters; a text may have at most ${maxTextLength}`,
    );
  }
  return { kind: "text", text };
}

/** `{image}` of Jina and SGLang: a URL, or base64 without a prefix. */
function bareImage(image: unknown, at: number): LinkedImage {
  if (typeof image !== "string")
    throw invalidEntry(at, `has an 'image' that is ${describeType(image)}`);
  const isUrl = image.startsWith(servedPath) || /^[a-z][a-z0-9+.-]{0,30}:/i.test(image);
  return linkPart(isUrl ? image : asDataUrl(image), `input[${at}].image`);
}

function asDataUrl(base64: string): string {
  const start = Buffer.from(base64.slice(0, 2 * sniffLength), "base64");
  return `data:${sniffImage(start) ?? "image/unknown"};base64,${base64}`;
}

/** The path of the gateway's own image links. */
const servedPath = "/files/images/";

function linkPart(url: string, param: string): LinkedImage {
  if (!isDataUrl(url) && !isHttpUrl(url) && !url.startsWith(servedPath)) {
    throw new GatewayError(
      "invalid_value",
      `Invalid '${param}': must be a data: URL, an https link, or a link to an image of this gateway.`,
      { param },
    );
  }
  const pixels = isDataUrl(url) ? inlinePixels(url) : undefined;
  return { kind: "link", url, param, ...(pixels !== undefined && { pixels }) };
}

/** Base64 characters of an image's head: a JPEG may have a long color profile before its size. */
const headCharacters = 88_000;

/**
 * From the header of the image. Undefined if it is not base64, or not an image. The image is checked when it is
 * loaded.
 */
function inlinePixels(url: string): number | undefined {
  const comma = url.indexOf(",");
  const start = url.slice(comma + 1, comma + 1 + headCharacters);
  const size = imageSize(Buffer.from(start, "base64"));
  return size && size.width * size.height;
}

/** The strings of `input` that are images, as objects. Only for models that read images. */
export function inlineImagesAsEntries(input: unknown): unknown {
  if (typeof input === "string") return isInlineImage(input) ? { image: input } : input;
  if (!Array.isArray(input) || !input.some(isInlineImage)) return input;
  return input.map((entry: unknown) => (isInlineImage(entry) ? { image: entry } : entry));
}

const isInlineImage = (entry: unknown): boolean =>
  typeof entry === "string" && splitInlineImage(entry.slice(0, 400)) !== undefined;

const withoutNulls = (given: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));

function refuseUnknown(others: Readonly<Record<string, unknown>>, at: number): void {
  const [name] = Object.keys(others);
  if (name === undefined) return;
  throw invalidEntry(at, `has an unknown member '${name.slice(0, 40)}'`);
}

const invalidEntry = (at: number, problem: string): GatewayError =>
  invalidInput(`Entry ${at} ${problem}.`);

const invalidInput = (problem: string): GatewayError =>
  new GatewayError("invalid_input", `'$.input' is invalid. ${problem}`);
