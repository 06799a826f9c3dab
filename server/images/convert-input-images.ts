/** Converts images of an embeddings request that a vendor refuses for their format, in the image worker. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { StageRequest } from "../request/stage.ts";
import type {
  EmbeddingsQuery,
  ImageInputCapabilities,
  InputImage,
  InputPart,
  MixedInput,
} from "../upstream/contract.ts";
import { toFilePart } from "../workers/image/file-part.ts";
import type { ImageWorker } from "../workers/image/image-worker.ts";
import type { ImageConversion } from "../workers/image/messages.ts";

type Request = Pick<StageRequest<EmbeddingsQuery>, "signal" | "temp" | "context">;

/** Lossless first; a photo may be too large that way. */
const conversions: readonly ImageConversion[] = [
  { format: "png" },
  { format: "jpeg" },
  { format: "jpeg", quality: 85 },
];

/** Returns a function that returns the input as the target reads it. It throws GatewayError. */
export function createImageConverter({ convert }: Pick<ImageWorker, "convert">) {
  // By image, so that a retry and a hedged request convert nothing again.
  const converted = new WeakMap<InputImage, Map<string, Promise<InputImage>>>();

  const convertImage = async (
    image: InputImage,
    field: string,
    { types, maxBytes = Infinity }: ImageInputCapabilities,
    { signal, temp, context }: Request,
  ): Promise<InputImage> => {
    const file = { ...image.file, field };
    const task = { signal: signal(), temp, key: context.caller?.id };
    for (const to of conversions.filter(({ format }) => types.includes(`image/${format}`))) {
      const part = toFilePart(await convert(file, to, task), file, `image/${to.format}`);
      if (part.size <= maxBytes) return { ...image, file: part };
    }
    throw new GatewayError(
      "invalid_value",
      `The image in '${field}' cannot be used: as ${types.map(nameOf).join(" or ")}, which this model reads, it has more than ${maxBytes} bytes. Send it in one of these formats, or with fewer pixels.`,
      { param: field, notSent: true },
    );
  };

  const convertOnce = (
    image: InputImage,
    field: string,
    images: ImageInputCapabilities,
    request: Request,
  ): Promise<InputImage> => {
    const byTypes = converted.get(image) ?? new Map<string, Promise<InputImage>>();
    converted.set(image, byTypes);
    const key = `${images.types.join()} ${images.maxBytes}`;
    const pending = byTypes.get(key) ?? convertImage(image, field, images, request);
    byTypes.set(key, pending);
    pending.catch(() => byTypes.delete(key));
    return pending;
  };

  return async (
    input: MixedInput,
    images: ImageInputCapabilities,
    request: Request,
  ): Promise<MixedInput> => {
    const entries = [];
    for (const [at, { parts }] of input.entries.entries()) {
      const readable: InputPart[] = [];
      // One after the other: the images of one request must not occupy all workers.
      for (const part of parts) {
        if (part.kind !== "image" || images.types.includes(part.image.file.type)) {
          readable.push(part);
          continue;
        }
        // Counted in this upstream request: stages above map the index to the client's.
        const field = `input[${at}]${part.member}`;
        readable.push({ ...part, image: await convertOnce(part.image, field, images, request) });
      }
      entries.push({ parts: readable });
    }
    return { kind: "mixed", entries };
  };
}

const nameOf = (type: string): string => type.replace("image/", "").toUpperCase();
