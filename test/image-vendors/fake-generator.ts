/**
 * The image generator behind every fake vendor: generates the requested images, records them, and serves links to them.
 */
import { extensionOf, sniffImage } from "../../server/lib/sniff-image.ts";
import type { ImageGenerator, ParsedRequest } from "./image-vendor.ts";
import { createImage, type ImageFormat } from "./test-images.ts";

/** Injected faults: how an image, or the link to it, differs from the request. */
export type ImageFault =
  /** Bytes that are not an image. */
  | "not-an-image"
  /** No image at all. */
  | "nothing"
  | "dead-link"
  | "page-behind-link"
  /** A valid image that is too large for the memory limit. */
  | "heavy";

export interface FakeGenerator extends ImageGenerator {
  /** The requests so far, in the order of arrival. */
  readonly requests: readonly ParsedRequest[];
  /** The images generated so far. */
  readonly images: readonly Uint8Array[];
  /** The number of links that responses contained. */
  links(): number;
  injectFault(fault: ImageFault): void;
  /** The fault that is injected now. */
  injectedFault(): ImageFault | undefined;
  /** The image behind a link. Undefined for a path that is not one of the generator's links. */
  serveLink(path: string): Response | undefined;
}

// Part of every golden file, so it is not renamed: goldens must stay comparable with earlier states.
const linkPath = "/studio/";
const notAnImage = new TextEncoder().encode("This is not an image, whatever its name says.");

export function createFakeGenerator(): FakeGenerator {
  const requests: ParsedRequest[] = [];
  const images: Uint8Array[] = [];
  const linked = new Map<string, Uint8Array>();
  let fault: ImageFault | undefined;

  return {
    requests,
    images,
    links: () => linked.size,
    injectFault: (next) => {
      fault = next;
    },
    injectedFault: () => fault,
    generate: async (parsed, kind = "png") => {
      const number = requests.push(parsed) - 1;
      if (fault === "nothing") return [];
      const made = await Promise.all(
        Array.from({ length: parsed.n }, (_, at) =>
          fault === "not-an-image"
            ? notAnImage
            : imageFor(`${number}/${at}`, parsed, kind, fault === "heavy"),
        ),
      );
      images.push(...made);
      return made;
    },
    link: (image, origin) => {
      const hash = new Bun.CryptoHasher("sha256").update(image).digest("hex").slice(0, 24);
      const name = `${hash}.${extensionOf(sniffImage(image) ?? "")}`;
      linked.set(name, image);
      return `${origin}${linkPath}${name}`;
    },
    serveLink: (path) => {
      if (!path.startsWith(linkPath)) return undefined;
      const image = linked.get(path.slice(linkPath.length).replace(/\?.*$/, ""));
      if (!image || fault === "dead-link") return new Response("No such key", { status: 404 });
      if (fault === "page-behind-link") {
        const headers = { "content-type": "text/html; charset=utf-8" };
        return new Response("<!doctype html><title>Sign in</title>", { headers });
      }
      const type = sniffImage(image) ?? "application/octet-stream";
      return new Response(new Uint8Array(image), { headers: { "content-type": type } });
    },
  };
}

/** Larger than the memory limit of a response. */
const heavySize = { width: 480, height: 400 } as const;
const tiny = { width: 48, height: 32 } as const;

function imageFor(
  seed: string,
  parsed: ParsedRequest,
  kind: ImageFormat,
  noisy: boolean,
): Promise<Uint8Array> {
  const { output_compression: quality, background } = parsed.options ?? {};
  return createImage(seed, {
    ...(noisy ? heavySize : dimensionsOf(parsed)),
    kind,
    ...(typeof quality === "number" && { quality: Math.max(1, quality) }),
    ...(background === "transparent" && kind !== "jpeg" && { transparent: true }),
    // Quality 100: a lossy format must not discard the noise that makes the file large.
    ...(noisy && { noisy, quality: 100 }),
  });
}

/** The requested size. For an aspect ratio, a small size of that ratio. */
function dimensionsOf({ size, aspect }: ParsedRequest): {
  readonly width: number;
  readonly height: number;
} {
  const [width, height] = (/^(\d+)[x*](\d+)$/.exec(size ?? "") ?? []).slice(1).map(Number);
  if (width && height) return { width, height };
  const [across, down] = (/^(\d+):(\d+)$/.exec(aspect ?? "") ?? []).slice(1).map(Number);
  return across && down ? { width: across * 8, height: down * 8 } : tiny;
}
