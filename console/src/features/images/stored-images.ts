/** The images of a request whose content the gateway stores, with the parameters that made them. */
import { queryOptions } from "@tanstack/react-query";
import type { RequestContent, ShownRequest } from "../../../../contract/admin.ts";
import { ApiError, call } from "../../api/client.ts";
import { finalImagesIn } from "../requests/content-values.ts";
import type { GalleryEntry } from "./gallery-store.ts";

/** Empty if the content was not stored, or is deleted. */
export const storedImagesQuery = (request: ShownRequest) =>
  queryOptions({
    queryKey: ["stored-images", request.id],
    queryFn: async ({ signal }): Promise<readonly GalleryEntry[]> => {
      try {
        const path = `/requests/${encodeURIComponent(request.id)}/content`;
        return entriesOf(request, await call<RequestContent>(path, { signal }));
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return [];
        throw error;
      }
    },
    staleTime: 60_000,
    // The images are not kept in the memory of the page after the gallery is closed.
    gcTime: 0,
  });

function entriesOf(
  { id, at, model, latency_ms: durationMs, cost }: ShownRequest,
  { request, files, response }: RequestContent,
): readonly GalleryEntry[] {
  const { model: _, prompt, ...rest } = request;
  const options = Object.entries(rest).filter(
    ([name, value]) => !notOptions.has(name) && ["string", "number"].includes(typeof value),
  );
  const references = files.flatMap(({ field, type, data }) =>
    data !== null && field.startsWith("image") ? [blobOf(data, type)] : [],
  );
  const format = String(request.output_format ?? "png");
  return finalImagesIn(response.body ?? "").map((base64, position) => ({
    id: `${id}-${position}`,
    at: Date.parse(at),
    parameters: {
      model: model ?? "",
      prompt: String(prompt ?? ""),
      options: Object.fromEntries(options.map(([name, value]) => [name, String(value)])),
    },
    references,
    maskSteps: [],
    image: blobOf(base64, `image/${format}`),
    durationMs,
    cost,
    requestId: id,
  }));
}

/** Parameters that the playground has no field for. */
const notOptions: ReadonlySet<string> = new Set(["user", "response_format"]);

const blobOf = (base64: string, type: string): Blob =>
  new Blob([Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))], { type });
