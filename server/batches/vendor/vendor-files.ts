/** The files of a vendor's batch: the input in the file store, and the results at the vendor. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { FileStore } from "../../storage/ports/file-store.ts";
import type { VendorApi, VendorEndpoint } from "./vendor-api.ts";

/** Of one file of results. It is written to disk as it arrives. */
const maxResultBytes = 16 * 1024 ** 3;

export async function* download(
  api: VendorApi,
  endpoint: VendorEndpoint,
  fileIds: readonly string[],
): AsyncGenerator<Uint8Array> {
  for (const fileId of fileIds) {
    const response = await endpoint.send({
      url: api.fileUrl(endpoint, fileId),
      headers: endpoint.headers,
      streams: true,
      fileBytes: maxResultBytes,
    });
    yield* response.chunks();
    yield Buffer.from("\n");
  }
}

export async function* readStored(files: FileStore, name: string): AsyncGenerator<Uint8Array> {
  const found = await files.find(name);
  if (!found) throw new GatewayError("storage_unavailable", "The input of the batch is missing.");
  yield* found.read();
}
