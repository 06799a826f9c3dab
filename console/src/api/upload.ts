/** Sends a form and reports how much of it has been sent, which `fetch` cannot. */
import type { AdminError } from "../../../contract/admin.ts";
import { ApiError, csrfHeader } from "./client.ts";

/** `onProgress`: the share, from 0 to 1. Throws ApiError. */
export function upload<Result>(
  path: string,
  form: FormData,
  onProgress: (share: number) => void,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/admin/api${path}`);
    for (const [name, value] of Object.entries(csrfHeader())) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    request.onerror = () => reject(new Error("The connection to the gateway was lost."));
    request.onload = () => {
      const { status, response } = request;
      if (status < 300) resolve(response as Result);
      else reject(new ApiError(status, errorOf(status, response)));
    };
    request.send(form);
  });
}

/** A proxy between the browser and the gateway may send an error that is not JSON. */
const errorOf = (status: number, response: unknown): AdminError["error"] =>
  (response as AdminError | null)?.error ?? {
    message: `The server responded with status ${status}.`,
    type: "",
    param: null,
    code: null,
  };
