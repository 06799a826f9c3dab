/** Translates the gateway's image queries to requests of the drawing program, and its events to responses. */
import type { CompletedImage, ImageInput, SketchEvent, SketchRequest, Usage } from "@vexel/sketch";
import type {
  BufferedImageResponse,
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageSource,
  StreamedImage,
} from "../../upstream/contract.ts";

export const generationRequest = ({
  prompt,
  options,
  stream,
  extraFields,
}: GenerationQuery): SketchRequest => ({
  prompt,
  stream,
  options: { ...options, seed: extraFields.seed },
});

export async function editRequest(query: EditQuery): Promise<SketchRequest> {
  const { images, mask, files } = query;
  const markup = files.find(isMarkup);
  return {
    ...generationRequest(query),
    edit: {
      images: await Promise.all(images.map(inputOf)),
      ...(mask && { mask: await inputOf(mask) }),
      ...(markup && { markup: await contentOf(markup) }),
    },
  };
}

/** `markup`, `markup[]` and `markup[0]` are the ways clients spell the form field. */
const isMarkup = ({ field }: FilePart): boolean => /^markup(\[\d*\])?$/.test(field);

const inputOf = async (source: ImageSource): Promise<ImageInput> =>
  source.kind === "file" ? { kind: "bytes", bytes: await contentOf(source.file) } : source;

/** Copies the content: a view would send all of the buffer that it is a part of. */
const contentOf = async (file: FilePart): Promise<Uint8Array> => new Uint8Array(await file.bytes());

/** The size of the uploads of a request in bytes, before they are read. */
export const uploadBytes = ({ images, mask, files }: EditQuery): number =>
  [...images, ...(mask ? [mask] : [])].reduce(
    (sum, source) => sum + (source.kind === "file" ? source.file.size : 0),
    files.filter(isMarkup).reduce((sum, { size }) => sum + size, 0),
  );

export function frameOf(event: SketchEvent): StreamedImage {
  const { bytes, ...metadata } = event;
  const image = { kind: "bytes", bytes } as const;
  if (metadata.type === "partial") return { ...metadata, image };
  const { revised_prompt: _, ...frame } = metadata;
  return { ...frame, image };
}

/** The buffered response. The drawing program reports metadata and usage per image. */
export function bufferedResponse(images: readonly CompletedImage[]): BufferedImageResponse {
  const [first] = images;
  if (first === undefined) return { kind: "buffered", results: [], metadata: {} };
  const { size, quality, output_format } = first;
  const opaque = images.every(({ background }) => background === "opaque");
  return {
    kind: "buffered",
    results: images.map(({ bytes, revised_prompt }) => ({
      image: { kind: "bytes", bytes },
      revised_prompt,
    })),
    metadata: { size, quality, background: opaque ? "opaque" : "transparent", output_format },
    usage: images.map(({ usage }) => usage).reduce(addUsage),
  };
}

const addUsage = (a: Usage, b: Usage): Usage => ({
  total_tokens: a.total_tokens + b.total_tokens,
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  input_tokens_details: addDetails(a.input_tokens_details, b.input_tokens_details),
  output_tokens_details: addDetails(a.output_tokens_details, b.output_tokens_details),
});

type Details = Usage["input_tokens_details"];
const addDetails = (a: Details, b: Details): Details => ({
  text_tokens: a.text_tokens + b.text_tokens,
  image_tokens: a.image_tokens + b.image_tokens,
});
