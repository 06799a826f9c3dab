/** /requests: the ledger as a list, one request with its timeline, and the live tail. */
import { z } from "zod";
import {
  requestContentSchema,
  requestDetailSchema,
  requestPageSchema,
} from "../../../contract/admin/requests.ts";
import { can, type RequestContent, type RequestPage } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { parseContent } from "../../request/content-format.ts";
import type { LedgerListQuery } from "../../storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../../storage/ports/ledger-row.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { nextCursor, pageQuery, readPage } from "../read-page.ts";
import { readQuery } from "../read-query.ts";
import { requestFilter, requestFilters, text, time } from "../reads/request-filter.ts";
import { requestsCsvHead, requestsCsvRow } from "../reads/requests-csv.ts";
import { showRequest, showRequestDetail } from "../reads/show-request.ts";
import { respondWithCsv } from "../respond-with-csv.ts";

const csvQuery = z.object({
  from: time("ISO 8601."),
  to: time("ISO 8601, exclusive."),
  request_id: text("The id of one request."),
  ...requestFilters,
});
const listQuery = pageQuery.extend(csvQuery.shape);
const liveQuery = z.object(requestFilters);

const csvPageRows = 1000;
const maxCsvRows = 50_000;

const timesOf = ({ from, to, request_id: requestId }: z.output<typeof csvQuery>) => ({
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
  ...(requestId !== undefined && { requestId }),
});

export function requestRoutes({
  queries,
  keyNames,
  endUserOf,
  keys,
  live,
  content,
  audit,
}: AdminDependencies): readonly AdminRoute[] {
  const list = async (context: AdminApiContext): Promise<Response> => {
    const given = readQuery(context, listQuery);
    const { entries, next, scannedUntil } = await queries.list({
      ...(await requestFilter(given, context.get("actor"), { keyNames, endUserOf, keys })),
      ...readPage(context),
      ...timesOf(given),
    });
    const names = await keyNames.of(entries.map(({ keyId }) => keyId));
    const page: RequestPage = {
      object: "list",
      data: entries.map((row) => showRequest(row, names.get(row.keyId) ?? null)),
      next_cursor: nextCursor(context, next),
      scanned_until: scannedUntil === undefined ? null : new Date(scannedUntil).toISOString(),
    };
    return context.json(page);
  };

  /** Page by page, so that no response of the query thread is large. */
  async function* csvLines(query: LedgerListQuery): AsyncGenerator<string> {
    yield requestsCsvHead;
    let cursor: string | undefined;
    for (let count = 0; count < maxCsvRows; ) {
      const limit = Math.min(csvPageRows, maxCsvRows - count);
      const { entries, next } = await queries.list({ ...query, limit, ...(cursor && { cursor }) });
      const names = await keyNames.of(entries.map(({ keyId }) => keyId));
      yield entries
        .map((row) => requestsCsvRow(showRequest(row, names.get(row.keyId) ?? null)))
        .join("");
      count += entries.length;
      if (next === undefined) return;
      cursor = next;
    }
    yield `only the latest ${maxCsvRows} requests are in this file: choose a shorter time or more filters\r\n`;
  }

  const download = async (context: AdminApiContext): Promise<Response> => {
    const given = readQuery(context, csvQuery);
    const query = {
      ...(await requestFilter(given, context.get("actor"), { keyNames, endUserOf, keys })),
      ...timesOf(given),
      limit: csvPageRows,
    };
    return respondWithCsv(context, "requests.csv", csvLines(query));
  };

  const find = async (context: AdminApiContext): Promise<LedgerRow> => {
    const { projects } = context.get("actor");
    const { entries } = await queries.list({
      requestId: context.req.param("id") ?? "",
      ...(projects !== null && { projects }),
      limit: 1,
    });
    const [row] = entries;
    if (!row) throw new GatewayError("entity_not_found", message("no_such_request"));
    return row;
  };

  const show = async (context: AdminApiContext): Promise<Response> => {
    const row = await find(context);
    const names = await keyNames.of([row.keyId]);
    const keyName = names.get(row.keyId) ?? null;
    const isAdministrator = can(context.get("actor").role, "administer");
    return context.json(
      showRequestDetail(row, keyName, {
        contentExpiresAt: await contentExpiresAt(row),
        isAdministrator,
      }),
    );
  };

  /** Undefined if not stored, or the object store is not available. The rest of the request is shown. */
  const contentExpiresAt = async ({ model, requestId }: LedgerRow): Promise<number | undefined> => {
    try {
      return (await content.find(model ?? "", requestId))?.expiresAt;
    } catch (error) {
      if (error instanceof GatewayError) return undefined;
      throw error;
    }
  };

  const showContent = async (context: AdminApiContext): Promise<Response> => {
    const { model, requestId } = await find(context);
    const stored = await content.find(model ?? "", requestId);
    const bytes = await stored?.read();
    if (!stored || !bytes) {
      throw new GatewayError("entity_not_found", message("content_not_stored"));
    }
    const { request, files, status, contentType, body, end } = parseContent(bytes);
    const shown: RequestContent = {
      object: "request_content",
      request_id: requestId,
      expires_at: new Date(stored.expiresAt).toISOString(),
      request,
      files,
      response: { status, content_type: contentType, body: body ?? null, end },
    };
    return context.json(shown);
  };

  const deleteContent = async (context: AdminApiContext): Promise<Response> => {
    const { model, requestId } = await find(context);
    if (!(await content.find(model ?? "", requestId))) {
      throw new GatewayError("entity_not_found", message("content_not_stored"));
    }
    await content.delete(model ?? "", requestId);
    await audit.record({
      ...senderOf(context),
      action: "request.content_deleted",
      subject: requestId,
      before: { model },
    });
    return context.body(null, 204);
  };

  const follow = async (context: AdminApiContext): Promise<Response> => {
    const given = readQuery(context, liveQuery);
    const filter = await requestFilter(given, context.get("actor"), { keyNames, endUserOf, keys });
    const viewer = live.open(filter, {
      user: context.get("actor").userId ?? "admin token",
      isAllowed: context.get("isStillAllowed"),
    });
    if (!viewer) {
      throw new GatewayError("overloaded", message("too_many_live_views"), { retryAfterMs: 5000 });
    }
    context.req.raw.signal.addEventListener("abort", () => viewer.close(), { once: true });
    const stream = new ReadableStream<Uint8Array>(
      {
        // Sent at once, so that the browser knows that the stream is open.
        start: (controller) => controller.enqueue(new TextEncoder().encode("retry: 500\n\n")),
        pull: async (controller) => {
          const bytes = await viewer.next();
          if (bytes) controller.enqueue(bytes);
          else controller.close();
        },
        cancel: () => viewer.close(),
      },
      { highWaterMark: 0 },
    );
    return context.body(stream, 200, {
      "content-type": "text/event-stream",
      "x-accel-buffering": "no",
    });
  };

  return [
    {
      method: "GET",
      path: "/requests",
      needs: "view",
      scope: "project",
      summary: "List requests, newest first.",
      query: listQuery,
      response: requestPageSchema,
      handle: list,
    },
    {
      method: "GET",
      path: "/requests.csv",
      needs: "view",
      scope: "project",
      summary: "Download requests as CSV, newest first.",
      query: csvQuery,
      response: "text/csv",
      handle: download,
    },
    {
      method: "GET",
      path: "/requests/live",
      needs: "view",
      scope: "project",
      summary: "Follow requests as they end (server-sent events).",
      query: liveQuery,
      response: "text/event-stream",
      handle: follow,
    },
    {
      method: "GET",
      path: "/requests/:id",
      needs: "view",
      scope: "project",
      summary: "Show one request with its timeline.",
      response: requestDetailSchema,
      handle: show,
    },
    {
      method: "GET",
      path: "/requests/:id/content",
      needs: "develop",
      scope: "project",
      summary: "Show what the client sent and received, for models with storeContent.",
      response: requestContentSchema,
      handle: showContent,
    },
    {
      method: "DELETE",
      path: "/requests/:id/content",
      needs: "develop",
      scope: "project",
      summary: "Delete what the client sent and received, before it expires.",
      response: null,
      handle: deleteContent,
    },
  ];
}
