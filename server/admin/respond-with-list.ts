/**
 * Responds with all entries of a list. A list may have 10,000 entries, so it is written in steps, between which other
 * requests are served.
 */
import { nextTurn } from "../lib/tasks.ts";
import type { AdminApiContext } from "./admin-route.ts";

const charactersOfStep = 128 * 1024;

export async function respondWithList<Row>(
  context: AdminApiContext,
  rows: Iterable<Row>,
  show: (row: Row) => unknown,
): Promise<Response> {
  const entries: string[] = [];
  let written = 0;
  for (const row of rows) {
    const shown = show(row);
    const text = JSON.stringify(shown instanceof Promise ? await shown : shown);
    entries.push(text);
    written += text.length;
    if (written < charactersOfStep) continue;
    written = 0;
    await nextTurn();
  }
  const body = `{"object":"list","data":[${entries.join(",")}],"next_cursor":null}`;
  return context.body(body, 200, { "content-type": "application/json" });
}
