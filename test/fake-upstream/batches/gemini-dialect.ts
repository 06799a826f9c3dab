/** The batch API of Gemini: resumable uploads, long-running operations, and one file with all results. */
import type { FakeBatch, FakeDialect, FakeState } from "./fake-batch.ts";

const states = {
  validating: "BATCH_STATE_PENDING",
  running: "BATCH_STATE_RUNNING",
  cancelling: "BATCH_STATE_RUNNING",
  completed: "BATCH_STATE_SUCCEEDED",
  cancelled: "BATCH_STATE_CANCELLED",
  expired: "BATCH_STATE_EXPIRED",
  failed: "BATCH_STATE_FAILED",
} as const;

function show(batch: FakeBatch, { files }: FakeState) {
  const isDone = !["validating", "running", "cancelling"].includes(batch.state);
  const name = `files/${batch.id.replace("/", "-")}`;
  if (isDone)
    files.set(
      name,
      batch.results
        .toReversed()
        .map(({ id, status, body }) =>
          status === 200
            ? JSON.stringify({ key: id, response: body })
            : JSON.stringify({ key: id, error: { code: 3, message: "Invalid input." } }),
        )
        .join("\n"),
    );
  return {
    name: batch.id,
    metadata: { displayName: batch.name, state: states[batch.state] },
    done: isDone,
    ...(batch.reason !== undefined && { error: { code: 8, message: batch.reason.message } }),
    ...(isDone && batch.results.length > 0 && { response: { responsesFile: name } }),
  };
}

export const geminiDialect: FakeDialect = {
  handle: async (request, state) => {
    const { pathname } = new URL(request.url);
    const { files, batches, origin } = state;
    if (request.headers.get("x-goog-api-key") === null)
      return Response.json({ error: { message: "No API key." } }, { status: 401 });
    if (
      pathname === "/upload/v1beta/files" &&
      request.headers.get("x-goog-upload-command") === "start"
    )
      return new Response("", { headers: { "x-goog-upload-url": `${origin}/upload/session` } });
    if (pathname === "/upload/session") {
      const name = `files/${state.newFileId()}`;
      files.set(name, await request.text());
      return Response.json({ file: { name } });
    }
    if (request.method === "DELETE") {
      const name = pathname.replace("/v1beta/", "");
      state.deleted.push(name);
      return files.delete(name) ? Response.json({}) : undefined;
    }
    const [, file] = /^\/download\/v1beta\/(files\/[^:]+):download$/.exec(pathname) ?? [];
    if (file !== undefined) return new Response(files.get(file));
    if (pathname.endsWith(":asyncBatchEmbedContent")) {
      const body = (await request.json()) as Readonly<Record<string, unknown>>;
      const { displayName: name, inputConfig } = body.batch as {
        displayName: string;
        inputConfig: { fileName: string };
      };
      const batch = state.create({ name, inputFile: inputConfig.fileName, request: body });
      return Response.json(show(batch, state));
    }
    if (pathname === "/v1beta/batches")
      return Response.json({ operations: batches.map((batch) => show(batch, state)) });
    const [, id = "", cancel] = /^\/v1beta\/(batches\/[^:]+)(:cancel)?$/.exec(pathname) ?? [];
    if (cancel) return state.cancel(id) && Response.json({});
    const batch = state.advance(id);
    return batch && Response.json(show(batch, state));
  },
};
