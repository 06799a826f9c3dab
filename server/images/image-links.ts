/**
 * The links of an answer. One that will be given again has links that last as long: what lies behind an upstream's own link,
 * which may be dead in minutes, is fetched and kept, and leaves under a link of ours.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Scratch } from "../lib/request-temp.ts";
import type { Signal } from "../lib/signal.ts";
import type { Target } from "../upstream/contract.ts";
import { checkTruncation } from "./check-truncation.ts";
import type { Held } from "./image-head.ts";

export interface LinkStore {
  /** Stores a picture and returns its link. */
  store(picture: Held, publicUrl: string): Promise<string>;
  /** The upstream's link itself, or one of ours in its place. */
  toLastingLink(url: string, publicUrl: string): Promise<string>;
}

export interface LinkTools {
  /** `givenAgain`: for as long as a kept answer is given again, and then as long as any. */
  store(picture: Held, publicUrl: string, givenAgain: boolean): Promise<string>;
  download(url: string, target: Target, signal: Signal, scratch: Scratch): Promise<Held>;
}

/** Of an answer that will be given again: whence it came, and within what its links are followed. */
export interface ReplayContext {
  readonly target: Target;
  readonly signal: Signal;
  readonly scratch: Scratch;
}

export type LinkStoreFor = (again?: ReplayContext) => LinkStore;

export function createLinkStore({ store: keep, download }: LinkTools): LinkStoreFor {
  const once: LinkStore = {
    store: (picture, publicUrl) => keep(picture, publicUrl, false),
    toLastingLink: async (url) => url,
  };
  return (again) => {
    if (!again) return once;
    const { target, signal, scratch } = again;
    let inReach = true;
    return {
      store: (picture, publicUrl) => keep(picture, publicUrl, true),
      toLastingLink: async (url, publicUrl) => {
        // The picture is in the link: that lasts.
        if (!inReach || url.startsWith("data:")) return url;
        try {
          const picture = await download(url, target, signal, scratch);
          await checkTruncation(picture);
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
