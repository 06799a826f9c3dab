/**
 * Loads the images of an embeddings request, before the cache is asked: decodes `data:` URLs, downloads links behind
 * the SSRF guard, and reads images that this gateway served. The header of each image is checked; no image is decoded
 * in this process.
 */
import { copyOf, viewOf } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { imageSize, sniffImage } from "../lib/sniff-image.ts";
import { nextTurn, runConcurrently } from "../lib/tasks.ts";
import { isDataUrl } from "../lib/url-scheme.ts";
import type { StageRequest } from "../request/stage.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import { type CollectedImage, collectImage } from "../upstream/collect-image.ts";
import type {
  EmbeddingsQuery,
  FilePart,
  ImagePart,
  InputImage,
  InputPart,
  LinkedImage,
  MixedInput,
} from "../upstream/contract.ts";
import { toFilePart } from "../workers/image/file-part.ts";
import { decodeDataUrl } from "./inline-image.ts";

interface ImageLoaderOptions {
  /** Downloads a link. Throws GatewayError. */
  readonly download: (
    url: string,
    request: {
      readonly signal: AbortSignal;
      readonly temp: RequestTemp;
      readonly origin: { readonly param: string };
    },
  ) => Promise<CollectedImage>;
  /** The content of an image that this gateway served. Undefined if the link has no valid signature, or has expired. */
  readonly findServed: (name: string, search: string) => Promise<Pick<Blob, "stream"> | undefined>;
  /** The maximum of an image. Its header is checked, so that an image that takes too much memory is never decoded. */
  readonly maxPixels: number;
  /** The maximum of all images of a request together. */
  readonly maxRequestBytes: number;
}

/** Concurrent downloads of one request. */
const maxParallel = 4;

/** Returns a function that returns the input with its images in place of their links. It throws GatewayError. */
export const createImageLoader =
  (options: ImageLoaderOptions) =>
  async (request: StageRequest<EmbeddingsQuery>, input: MixedInput): Promise<MixedInput> => {
    const loaded = new Map<string, InputImage>();
    // The same link is loaded once; an error names its first entry. As a stack: the first link on top.
    const links = new Map<string, LinkedImage>();
    for (const link of linksIn(input).toReversed()) {
      // Hashing all large URLs at once would delay other requests by tens of milliseconds.
      if (link.url.length > largeUrl) await nextTurn();
      links.set(link.url, link);
    }
    let bytes = 0;
    const load = async (link: LinkedImage): Promise<void> => {
      const image = await loadImage(link, request, options);
      bytes += image.file.size;
      if (bytes > options.maxRequestBytes) throw tooManyBytes(options.maxRequestBytes);
      loaded.set(link.url, image);
    };
    await runConcurrently([...links.values()], maxParallel, load);
    const withImage = (part: InputPart): InputPart =>
      part.kind === "link" ? toImagePart(part, loaded.get(part.url) as InputImage) : part;
    return {
      kind: "mixed",
      entries: input.entries.map(({ parts }) => ({ parts: parts.map(withImage) })),
    };
  };

const toImagePart = ({ param }: LinkedImage, image: InputImage): ImagePart => ({
  kind: "image",
  image,
  member: param.replace(/^input\[\d+\]/, ""),
});

const linksIn = ({ entries }: MixedInput): LinkedImage[] =>
  entries.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === "link" ? [part] : [])));

async function loadImage(
  link: LinkedImage,
  request: Pick<StageRequest<EmbeddingsQuery>, "signal" | "temp">,
  options: ImageLoaderOptions,
): Promise<InputImage> {
  const { param } = link;
  const file = await loadFile(link, request, options);
  if (file.size === 0) throw invalidImage(param, "it is empty");
  const { head, hash } = await hashFile(file);
  if (sniffImage(head) === undefined) {
    throw invalidImage(param, "it is not an image in PNG, JPEG, WebP, GIF or AVIF");
  }
  const size = imageSize(head);
  if (!size) throw invalidImage(param, "its size cannot be read from its header");
  const { width, height } = size;
  const { maxPixels } = options;
  if (width * height > maxPixels) {
    const problem = `it has ${width}x${height} pixels; the maximum is ${maxPixels} pixels`;
    throw invalidImage(param, problem);
  }
  return { file, width, height, hash };
}

async function loadFile(
  { url, param }: LinkedImage,
  { signal, temp }: Pick<StageRequest<EmbeddingsQuery>, "signal" | "temp">,
  { download, findServed }: ImageLoaderOptions,
): Promise<FilePart> {
  if (isDataUrl(url)) {
    // Decoding a large image takes milliseconds: other requests are served before the next one.
    if (url.length > largeUrl) await nextTurn();
    return decodeDataUrl(url, param, temp);
  }
  const served = await readServed(url, param, temp, findServed);
  const image = served ?? (await download(url, { signal: signal(), temp, origin: { param } }));
  const start = image.kind === "bytes" ? image.bytes : image.spilled.start;
  const type = sniffImage(start) ?? "application/octet-stream";
  return toFilePart(image, { field: param, filename: "" }, type);
}

const largeUrl = 256 * 1024;

/** `https://gateway/files/images/NAME?expires=…&signature=…`, or the path alone. */
const servedLink = /^(https?:\/\/[^/?#]+)?\/files\/images\/([\w.-]{1,200})(\?[^#]*)?$/i;

/** Undefined if it is not a link of this gateway. The signature decides, not the host. */
async function readServed(
  url: string,
  param: string,
  temp: RequestTemp,
  findServed: ImageLoaderOptions["findServed"],
): Promise<CollectedImage | undefined> {
  const [, host, name, search = ""] = (url.length < 2048 && servedLink.exec(url)) || [];
  if (name === undefined) return undefined;
  const content = await findServed(name, search);
  if (content) return collectImage(content.stream(), temp);
  // With a host, it may be a link of another gateway.
  if (host !== undefined) return undefined;
  throw invalidImage(param, "this gateway has no such image, or the link has expired");
}

/** Enough for the size: a JPEG may have thumbnails and color profiles before it. */
const headBytes = 256 * 1024;

async function hashFile(file: FilePart): Promise<{ head: Uint8Array; hash: string }> {
  const sha256 = new Bun.SHA256();
  const head: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of file.stream()) {
    sha256.update(viewOf(chunk));
    if (length < headBytes) head.push(copyOf(chunk.subarray(0, headBytes - length)));
    length += chunk.length;
  }
  return { head: Buffer.concat(head), hash: sha256.digest("base64") };
}

const invalidImage = (param: string, reason: string): GatewayError =>
  new GatewayError("invalid_value", `The image in '${param}' cannot be used: ${reason}.`, {
    param,
  });

const tooManyBytes = (maxBytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The images of this request have more than ${maxBytes} bytes together. Send them in several requests.`,
    { param: "input" },
  );
