/** OpenAI's batch API, and how those of Voyage and Mistral differ from it. */
import type { FakeBatch, FakeDialect, FakeState } from "./fake-batch.ts";

interface Differences {
  readonly path: string;
  /** What is wrong with the body that creates a batch. */
  check(body: Readonly<Record<string, unknown>>): string | undefined;
  inputFileOf(body: Readonly<Record<string, unknown>>): string;
  show(batch: FakeBatch, state: FakeState): unknown;
}

export const openaiDialect = dialect({
  path: "/v1/batches",
  check: ({ completion_window: window, endpoint }) =>
    window === "24h" && ["/v1/embeddings", "/v1/images/generations"].includes(String(endpoint))
      ? undefined
      : "Invalid window or endpoint.",
  inputFileOf: ({ input_file_id: id }) => String(id),
  show: showBatch,
});

export const voyageDialect = dialect({
  path: "/v1/batches",
  check: ({ completion_window: window, request_params: params }) =>
    window === "12h" && typeof (params as { model?: unknown } | undefined)?.model === "string"
      ? undefined
      : "The model is missing in request_params.",
  inputFileOf: ({ input_file_id: id }) => String(id),
  show: showBatch,
});

const mistralStates = {
  validating: "QUEUED",
  running: "RUNNING",
  cancelling: "CANCELLATION_REQUESTED",
  completed: "SUCCESS",
  cancelled: "CANCELLED",
  expired: "TIMEOUT_EXCEEDED",
  failed: "FAILED",
} as const;

export const mistralDialect = dialect({
  path: "/v1/batch/jobs",
  check: ({ model, timeout_hours: hours }) =>
    typeof model === "string" && hours === 24 ? undefined : "The model is missing.",
  inputFileOf: ({ input_files: [id] = [] }: { input_files?: readonly string[] }) => String(id),
  show: (batch, state) => ({
    id: batch.id,
    object: "batch",
    metadata: batch.request.metadata,
    status: mistralStates[batch.state],
    errors: batch.reason === undefined ? [] : [{ message: batch.reason.message, count: 1 }],
    ...filesOf(batch, state, "output_file", "error_file"),
  }),
});

function showBatch(batch: FakeBatch, state: FakeState): unknown {
  return {
    id: batch.id,
    object: "batch",
    metadata: batch.request.metadata,
    status: batch.state === "running" ? "in_progress" : batch.state,
    errors: batch.reason === undefined ? null : { object: "list", data: [batch.reason] },
    ...filesOf(batch, state, "output_file_id", "error_file_id"),
  };
}

/** Successes and failures, in the reverse order of the requests. */
function filesOf(batch: FakeBatch, { files }: FakeState, output: string, error: string) {
  if (["validating", "running", "cancelling"].includes(batch.state)) return {};
  const lineOf = ({ id, status, body }: FakeBatch["results"][number]): string =>
    `${JSON.stringify({ id: `r-${id}`, custom_id: id, response: { status_code: status, body }, error: null })}\n`;
  const lines = batch.results.toReversed();
  const store = (name: string, text: string): string | null => {
    if (text === "") return null;
    files.set(name, text);
    return name;
  };
  const isFine = ({ status }: { status: number }): boolean => status === 200;
  return {
    [output]: store(`${batch.id}-output`, lines.filter(isFine).map(lineOf).join("")),
    [error]: store(
      `${batch.id}-error`,
      lines
        .filter((line) => !isFine(line))
        .map(lineOf)
        .join(""),
    ),
  };
}

function dialect({ path, check, inputFileOf, show }: Differences): FakeDialect {
  return {
    handle: async (request, state) => {
      const { pathname } = new URL(request.url);
      const { files, batches } = state;
      if (pathname === "/v1/files" && request.method === "POST") {
        const form = await request.formData();
        const file = form.get("file") as File;
        if (form.get("purpose") !== "batch" || !file.name.endsWith(".jsonl"))
          return Response.json({ error: { message: "Not a file of a batch." } }, { status: 400 });
        const id = state.newFileId();
        files.set(id, await file.text());
        return Response.json({ id, object: "file" });
      }
      const removed = await removedFile(request, pathname);
      if (removed !== undefined) {
        state.deleted.push(removed);
        return files.delete(removed) ? Response.json({ id: removed, deleted: true }) : undefined;
      }
      const [, fileId] = /^\/v1\/files\/([^/]+)\/content$/.exec(pathname) ?? [];
      if (fileId !== undefined) return new Response(files.get(fileId));
      if (pathname === path && request.method === "GET") {
        const data = batches.toReversed().map((batch) => show(batch, state));
        return Response.json({ object: "list", data, has_more: false });
      }
      if (pathname === path) {
        const body = (await request.json()) as Readonly<Record<string, unknown>>;
        const problem = check(body);
        if (problem !== undefined)
          return Response.json({ error: { message: problem } }, { status: 400 });
        const { vexel: name = "" } = body.metadata as { vexel?: string };
        const batch = state.create({ name, inputFile: inputFileOf(body), request: body });
        return Response.json(show(batch, state));
      }
      const [, id = "", cancel] = /\/([^/]+?)(\/cancel)?$/.exec(pathname) ?? [];
      if (!pathname.startsWith(path)) return undefined;
      const batch = cancel ? state.cancel(id) : state.advance(id);
      return batch && Response.json(show(batch, state));
    },
  };
}

/** The id of the file that the request deletes. Voyage deletes several at once. */
async function removedFile(request: Request, path: string): Promise<string | undefined> {
  if (request.method === "DELETE") return /^\/v1\/files\/([^/]+)$/.exec(path)?.[1];
  if (path !== "/v1/files/delete") return undefined;
  const { file_ids: ids } = (await request.json()) as { file_ids: readonly string[] };
  return ids[0];
}
