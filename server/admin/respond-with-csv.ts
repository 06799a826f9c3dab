/** Sends a CSV file line by line, as fast as the client reads it. */
import type { AdminApiContext } from "./admin-route.ts";

export function respondWithCsv(
  context: AdminApiContext,
  name: string,
  lines: AsyncGenerator<string>,
): Response {
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await lines.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => {
        await lines.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return context.body(stream, 200, {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${name}"`,
  });
}
