/**
 * Converts between streamed responses (with partial images) and buffered ones: the client gets the form it requested,
 * whatever the upstream sent.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { toGatewayError } from "../request/error-response.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type {
  BufferedImageResponse,
  Deviations,
  GenerationQuery,
  ImageEvent,
  ImageResponse,
  ImageResult,
  StreamedImage,
} from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { splitUsage, sumUsage } from "./image-usage.ts";
import { deviationsOf, missingFor } from "./missing-images.ts";

export const convertStream =
  <Q extends GenerationQuery>(): Stage<Q, ImageResponse> =>
  (next) =>
  async (request) => {
    // Returned at once: heartbeats can be sent while an upstream that does not stream is generating.
    if (request.query.stream) return streamFrames(() => next(request), request.query);
    const response = await next(request);
    return response.kind === "buffered" ? response : collectStream(response, request);
  };

/** As many completed images as requested, or an error at the end that says how many are missing. */
function streamFrames(
  send: () => Promise<ImageResponse>,
  { options: { n: requested = 1 } }: GenerationQuery,
): ImageResponse {
  let response: ImageResponse | undefined;
  const deviations = (): Deviations => (response ? deviationsOf(response) : {});
  async function* events(): AsyncGenerator<ImageEvent> {
    let delivered = 0;
    try {
      response = await send();
      for await (const frame of framesIn(response)) {
        if (frame.type === "completed") delivered++;
        yield frame;
      }
    } catch (error) {
      throw delivered > 0 && delivered < requested
        ? missingImagesError(requested - delivered, requested, error)
        : error;
    }
    if (delivered < requested)
      throw missingImagesError(
        requested - delivered,
        requested,
        deviations().missing?.error ?? tooFew(),
      );
  }
  return { kind: "stream", events: events(), deviations };
}

const tooFew = (): GatewayError => invalidResponse("it contains fewer images than requested");

/** The other images are billed. An internal error is not wrapped. */
const missingImagesError = (missing: number, requested: number, error: unknown): unknown =>
  error instanceof GatewayError
    ? new GatewayError(
        error.kind,
        `${missing} of ${requested} images ${missing === 1 ? "is" : "are"} missing. ${error.message}`,
        { ...error.details, mayBeBilled: true },
      )
    : error;

async function* framesIn(response: ImageResponse): AsyncGenerator<StreamedImage> {
  if (response.kind === "buffered") yield* framesOf(response);
  else {
    for await (const event of response.events) {
      if (event.type === "buffered") yield* framesOf(event.response);
      else yield event;
    }
  }
}

function* framesOf(response: BufferedImageResponse): Generator<StreamedImage> {
  // A response has one usage, and every event needs a usage of its own: their sum is the usage of the response.
  const shares = response.usage && splitUsage(response.usage, response.results.length);
  for (const [at, { image, extraFields, revised_prompt }] of response.results.entries()) {
    const usage = shares?.[at];
    if (image.kind === "url")
      throw invalidResponse("it contains a URL, which a stream cannot deliver");
    yield {
      type: "completed",
      image,
      ...(response.created !== undefined && { created: response.created }),
      ...response.metadata,
      ...(usage && { usage }),
      extraFields: {
        ...response.extraFields,
        ...extraFields,
        ...(revised_prompt !== undefined && { revised_prompt }),
      },
    };
  }
}

/** Images of a stream are delivered even if it ends early; the response reports the missing ones. */
async function collectStream<Q extends GenerationQuery>(
  response: Extract<ImageResponse, { kind: "stream" }>,
  { query, signal }: StageRequest<Q>,
): Promise<BufferedImageResponse> {
  const results: ImageResult[] = [];
  let otherFields: Omit<BufferedImageResponse, "kind" | "results"> = { metadata: {} };
  let failure: unknown;
  try {
    for await (const event of response.events) {
      if (event.type === "buffered") {
        const { kind: _, results: more, usage, ...others } = event.response;
        const usageSum = sumUsage(otherFields.usage, usage);
        results.push(...more);
        otherFields = { ...otherFields, ...others, ...(usageSum && { usage: usageSum }) };
        continue;
      }
      const { type, image, index: _, created, usage, extraFields, ...metadata } = event;
      if (type !== "completed") continue;
      results.push({ image });
      const usageSum = sumUsage(otherFields.usage, usage);
      otherFields = {
        ...(created !== undefined && { created }),
        metadata,
        ...(usageSum && { usage: usageSum }),
        extraFields: { ...otherFields.extraFields, ...extraFields },
      };
    }
  } catch (error) {
    failure = toGatewayError(error, signal());
    const { kind } = failure as GatewayError;
    if (results.length === 0 || kind === "internal" || kind === "client_closed") throw error;
  }
  const missingCount = (query.options.n ?? 1) - results.length;
  const deviations = {
    ...deviationsOf(response),
    ...(missingCount > 0 && { missing: missingFor(missingCount, failure) }),
  };
  return { kind: "buffered", results, ...otherFields, deviations };
}
