/** Stored content for reading: images as base64, and text without long vectors and images. */

const maxNumbers = 8;
const maxCharacters = 2000;
const shownOfBase64 = 40;

/** The values of a body: one of JSON, or one of each server-sent event. */
function valuesIn(body: string): unknown[] {
  const texts = body.trimStart().startsWith("{")
    ? [body]
    : body.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  return texts.map((text) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  });
}

/** The images of a response, partial images included. */
export function imagesIn(body: string): string[] {
  const images: string[] = [];
  JSON.stringify(valuesIn(body), (name, value: unknown) => {
    if (name === "b64_json" && typeof value === "string") images.push(value);
    return value;
  });
  return images;
}

/** The images of a response, without partial images. */
export function finalImagesIn(body: string): string[] {
  const events = valuesIn(body) as readonly { readonly type?: string }[];
  const last = events.filter(({ type = "" }) => !type.endsWith("partial_image"));
  return last.flatMap((event) => imagesIn(JSON.stringify(event)));
}

/** Indented JSON. Vectors and base64 are cut, and say how long they are. */
export function shortened(content: string | object): string {
  const values = typeof content === "string" ? valuesIn(content) : [content];
  return values.map((value) => JSON.stringify(value, cut, 2)).join("\n");
}

function cut(_: string, value: unknown): unknown {
  if (typeof value === "string") {
    const isBase64 = value.length > 200 && !/[^\w+/=-]/.test(value);
    const shown = isBase64 ? shownOfBase64 : maxCharacters;
    return value.length <= shown ? value : `${value.slice(0, shown)}… (${value.length} characters)`;
  }
  if (Array.isArray(value) && value.length > maxNumbers && typeof value[0] === "number") {
    return `[${value.slice(0, maxNumbers).join(", ")}, … ${value.length} numbers]`;
  }
  return value;
}
