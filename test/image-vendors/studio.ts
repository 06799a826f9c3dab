/** The image generator behind every fake vendor: generates the requested images, records them, and serves links to them. */
import { extensionOf, sniffImage } from "../../server/lib/sniff-image.ts";
import type { Order, Studio } from "./image-vendor.ts";
import { type PictureKind, paint } from "./paint.ts";

/** How pictures, or the links to them, may be other than what was ordered. */
export type Trick =
  /** Bytes that are no picture. */
  | "lie"
  /** None at all. */
  | "nothing"
  | "dead-link"
  | "page-behind-link"
  /** True, and too large to be held in memory. */
  | "heavy";

export interface OpenStudio extends Studio {
  /** What was ordered so far, in the order of arrival. */
  readonly orders: readonly Order[];
  /** What was drawn so far. */
  readonly pictures: readonly Uint8Array[];
  /** How many links were given out. */
  links(): number;
  play(trick: Trick): void;
  /** The trick that is being played. */
  played(): Trick | undefined;
  /** What stands behind a link. Undefined for a path that is none of the studio's. */
  visit(path: string): Response | undefined;
}

const shelf = "/studio/";
const lie = new TextEncoder().encode("This is not a picture, whatever its name may say.");

export function openStudio(): OpenStudio {
  const orders: Order[] = [];
  const pictures: Uint8Array[] = [];
  const shown = new Map<string, Uint8Array>();
  let trick: Trick | undefined;

  return {
    orders,
    pictures,
    links: () => shown.size,
    play: (next) => {
      trick = next;
    },
    played: () => trick,
    take: async (order, kind = "png") => {
      const number = orders.push(order) - 1;
      if (trick === "nothing") return [];
      const made = await Promise.all(
        Array.from({ length: order.n }, (_, at) =>
          trick === "lie" ? lie : drawn(`${number}/${at}`, order, kind, trick === "heavy"),
        ),
      );
      pictures.push(...made);
      return made;
    },
    link: (picture, origin) => {
      const hash = new Bun.CryptoHasher("sha256").update(picture).digest("hex").slice(0, 24);
      const name = `${hash}.${extensionOf(sniffImage(picture) ?? "")}`;
      shown.set(name, picture);
      return `${origin}${shelf}${name}`;
    },
    visit: (path) => {
      if (!path.startsWith(shelf)) return undefined;
      const picture = shown.get(path.slice(shelf.length).replace(/\?.*$/, ""));
      if (!picture || trick === "dead-link") return new Response("No such key", { status: 404 });
      if (trick === "page-behind-link") {
        const headers = { "content-type": "text/html; charset=utf-8" };
        return new Response("<!doctype html><title>Sign in</title>", { headers });
      }
      const type = sniffImage(picture) ?? "application/octet-stream";
      return new Response(new Uint8Array(picture), { headers: { "content-type": type } });
    },
  };
}

/** More than an answer may hold in memory. */
const heavySize = { width: 480, height: 400 } as const;
const tiny = { width: 48, height: 32 } as const;

function drawn(seed: string, order: Order, kind: PictureKind, noisy: boolean): Promise<Uint8Array> {
  const { output_compression: quality, background } = order.options ?? {};
  return paint(seed, {
    ...(noisy ? heavySize : canvasOf(order)),
    kind,
    ...(typeof quality === "number" && { quality: Math.max(1, quality) }),
    ...(background === "transparent" && kind !== "jpeg" && { transparent: true }),
    // Even where noise is thrown away, it must weigh something.
    ...(noisy && { noisy, quality: 100 }),
  });
}

/** As ordered. Of a shape, a small one. */
function canvasOf({ size, aspect }: Order): { readonly width: number; readonly height: number } {
  const [width, height] = (/^(\d+)[x*](\d+)$/.exec(size ?? "") ?? []).slice(1).map(Number);
  if (width && height) return { width, height };
  const [across, down] = (/^(\d+):(\d+)$/.exec(aspect ?? "") ?? []).slice(1).map(Number);
  return across && down ? { width: across * 8, height: down * 8 } : tiny;
}
