/** The tools of image requests: downloads behind the SSRF guard, and the image worker. */
import type { Target } from "../upstream/contract.ts";
import {
  createDownload,
  hasCredentials,
  isPrivateHost,
  trustedHost,
} from "../upstream/download/index.ts";
import { toFilePart } from "../workers/image/file-part.ts";
import { type ImageWorker, inspectOnce } from "../workers/image/image-worker.ts";
import type { ImageTools } from "./generate.ts";
import { checkImage, checkMarkup, checkMask } from "./preflight.ts";

export interface DownloadLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** Private hosts from which images may be downloaded. */
  readonly trusted: readonly string[];
}

interface ImageToolsOptions extends Pick<ImageTools, "capabilitiesOf"> {
  readonly imageWorker: ImageWorker;
  readonly download: DownloadLimits;
  /** The maximum size of an upload. */
  readonly maxFileBytes: number;
}

export function createImageTools(options: ImageToolsOptions): ImageTools {
  const { imageWorker } = options;
  const download = createDownload(options.download);
  const inspections = inspectOnce(imageWorker);
  return {
    capabilitiesOf: options.capabilitiesOf,
    download: createImageDownload(options.download),
    fetchSource: async (url, param, { signal, temp, key }) => {
      const image = await download(url, { signal, temp, origin: { param } });
      const inspection = await checkImage(image, param, { imageWorker, key }, signal);
      if (param.startsWith("mask")) checkMask(inspection, undefined, param);
      if (param.startsWith("markup")) checkMarkup(inspection, undefined, param);
      const file = toFilePart(image, { field: param, filename: "image" }, inspection.type);
      inspections.set(file, inspection);
      return file;
    },
    inspect: (file, { signal, key }) => inspections.inspect(file, signal, undefined, key),
    isPrivate,
    convert: imageWorker.convert,
    convertFile: async (file, to, task) =>
      toFilePart(await imageWorker.convert(file, to, task), file, `image/${to.format}`),
    convertMask: async (mask, to, task) =>
      toFilePart(await imageWorker.mask(mask, to, task), mask, "image/png"),
    uploads: { imageWorker: inspections, maxBytes: options.maxFileBytes },
  };
}

/** Downloads the image behind an upstream's link. An upstream in a private network returns links to itself. */
export function createImageDownload(limits: DownloadLimits): ImageTools["download"] {
  const download = createDownload(limits);
  return (url, target, signal, temp) =>
    download(url, { signal, temp, origin: "upstream", trusted: ownHosts(target), svg: true });
}

/** Decided by the URL alone, without a DNS lookup: the client would resolve the name itself. */
function isPrivate(link: string): boolean {
  const url = URL.parse(link);
  return url !== null && (hasCredentials(url) || isPrivateHost(url.hostname));
}

const ownHosts = ({ upstream }: Target): string[] =>
  upstream.baseUrl === undefined ? [] : [trustedHost(upstream.baseUrl)];
