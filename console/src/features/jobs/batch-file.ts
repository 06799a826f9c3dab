/** The input file of a batch, from a file that a user has. */

export type JobEndpoint = "/v1/embeddings" | "/v1/images/generations";

/**
 * A file of lines becomes one request per line that is not empty. A file whose first line is a request of the Batch API
 * stays as it is. Undefined if the file has no line.
 */
export async function batchFile(
  file: Blob,
  url: JobEndpoint,
  model: string,
): Promise<Blob | undefined> {
  const lines = (await file.text()).split(/\r?\n/).filter((line) => line.trim() !== "");
  const [first] = lines;
  if (first === undefined) return undefined;
  if (isRequest(first)) return file;
  const requests = lines.map((line, at) => {
    const body = url === "/v1/embeddings" ? { model, input: line } : { model, prompt: line };
    return `${JSON.stringify({ custom_id: String(at + 1), method: "POST", url, body })}\n`;
  });
  return new Blob(requests);
}

function isRequest(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "custom_id" in value;
  } catch {
    return false;
  }
}
