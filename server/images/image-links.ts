/**
 * The links of an answer. One that will be given again has links that last as long: what lies behind an upstream's own link,
 * which may be dead in minutes, is fetched and kept, and leaves under a link of ours.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Scratch } from "../lib/request-temp.ts";
import type { Signal } from "../lib/signal.ts";
import type { Target } from "../upstream/contract.ts";
import { checkWhole } from "./check-truncation.ts";
import type { Held } from "./image-head.ts";

export interface Links {
  /** Stores a picture and returns its link. */
  keep(picture: Held, publicUrl: string): Promise<string>;
  /** The upstream's link itself, or one of ours in its place. */
  passOn(url: string, publicUrl: string): Promise<string>;
}

export interface LinkTools {
  /** `givenAgain`: for as long as a kept answer is given again, and then as long as any. */
  keep(picture: Held, publicUrl: string, givenAgain: boolean): Promise<string>;
  download(url: string, target: Target, signal: Signal, scratch: Scratch): Promise<Held>;
}

/** Of an answer that will be given again: whence it came, and within what its links are followed. */
export interface Again {
  readonly target: Target;
  readonly signal: Signal;
  readonly scratch: Scratch;
}

export type LinksOf = (again?: Again) => Links;

export function createLinks({ keep, download }: LinkTools): LinksOf {
  const once: Links = {
    keep: (picture, publicUrl) => keep(picture, publicUrl, false),
    passOn: async (url) => url,
  };
  return (again) => {
    if (!again) return once;
    const { target, signal, scratch } = again;
    let inReach = true;
    return {
      keep: (picture, publicUrl) => keep(picture, publicUrl, true),
      passOn: async (url, publicUrl) => {
        // The picture is in the link: that lasts.
        if (!inReach || url.startsWith("data:")) return url;
        try {
          const picture = await download(url, target, signal, scratch);
          await checkWhole(picture);
          return await keep(picture, publicUrl, true);
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
          // It is paid for, and the link is good for now. The others are as far away, and someone may be waiting.
          inReach = false;
          return url;
        }
      },
    };
  };
}
