/**
 * Image links of a response. The links of a stored response must work as long as it can be replayed. An upstream's own
 * link may expire in minutes, so the image behind it is downloaded, stored, and delivered under a link of the gateway.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { isDataUrl } from "../lib/url-scheme.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type { LoadedImage, Target } from "../upstream/contract.ts";
import { checkTruncation } from "./check-truncation.ts";

export interface LinkStore {
  /** Stores an image and returns its link. */
  store(image: LoadedImage, publicUrl: string): Promise<string>;
  /** The upstream's link itself, or a link of the gateway in its place. */
  toLastingLink(url: string, publicUrl: string): Promise<string>;
}

/**
 * When a link expires: `response`, after the usual lifetime of a link; `replay`, with the stored response; `job`, with
 * the job whose result it is.
 */
export type LinkLifetime = "response" | "replay" | "job";

interface LinkTools {
  store(image: LoadedImage, publicUrl: string, lifetime: LinkLifetime): Promise<string>;
  download(
    url: string,
    target: Target,
    signal: AbortSignal,
    temp: RequestTemp,
  ): Promise<LoadedImage>;
}

/** Context of a response that can be replayed: the target that sent it, and the request that downloads its links. */
export interface ReplayContext {
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly temp: RequestTemp;
  /** The response is the result of a job. */
  readonly isJob?: boolean;
}

export interface LinkStores {
  /** For a response that is not stored: the upstream's links are passed on. */
  readonly plain: LinkStore;
  /** For a response that can be replayed: its links must last as long as it does. */
  readonly lasting: (replay: ReplayContext) => LinkStore;
}

export function createLinkStores({ store, download }: LinkTools): LinkStores {
  const plain: LinkStore = {
    store: (image, publicUrl) => store(image, publicUrl, "response"),
    toLastingLink: async (url) => url,
  };
  const lasting = ({ target, signal, temp, isJob }: ReplayContext): LinkStore => {
    const lifetime = isJob ? "job" : "replay";
    let isReachable = true;
    return {
      store: (image, publicUrl) => store(image, publicUrl, lifetime),
      toLastingLink: async (url, publicUrl) => {
        // A data: URL contains the image and never expires.
        if (!isReachable || isDataUrl(url)) return url;
        try {
          const image = await download(url, target, signal, temp);
          await checkTruncation(image);
          return await store(image, publicUrl, lifetime);
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
          // The image is billed, and its link works for now. The other links are probably as unreachable, and the
          // client is waiting.
          isReachable = false;
          return url;
        }
      },
    };
  };
  return { plain, lasting };
}
