/** Laws (contract tests) of the outbox. */
import { describe, expect } from "bun:test";
import type { OutboxFile } from "../../../server/storage/files/outbox.ts";
import type { InFlightRequest, LedgerRow } from "../../../server/storage/ports/ledger-row.ts";
import { ledgerRow } from "../../ledger/ledger-fixture.ts";
import { awkwardTexts, type Implementation, lawsOf, writeUntilKilled } from "./backend.ts";

/** The most bytes that the implementations under test may store. */
export const outboxMaxBytes = 64 * 1024;

export interface OutboxImplementation extends Implementation<OutboxFile> {
  /** The rows that the next start appends to the ledger store. Afterwards nothing remains to be recovered. */
  recover(location: string): Promise<readonly LedgerRow[]>;
}

const noon = Date.UTC(2026, 10, 15, 12);
const row = (more: Partial<LedgerRow> = {}): LedgerRow => ledgerRow(noon, more);

export const inFlightRequest = (requestId: string): InFlightRequest => ({
  requestId,
  at: noon,
  endpoint: "images",
  keyId: "key_1",
  model: "größer\n– 大 🦦",
  project: null,
  estimate: 0.04,
  endUser: "eu_1",
  tags: "team:search,batch",
  budgets: "end_user=eu_1\ttag=batch",
});

/** The row of a request that was in flight when its process ended. */
const interruptedRow = ({ estimate, ...request }: InFlightRequest): LedgerRow =>
  row({
    ...request,
    estimatedCost: estimate ?? null,
    status: 500,
    error: "internal",
    attempts: 0,
    latencyMs: 0,
    steps: "the gateway was killed before the request finished",
  });

const idsOf = (rows: readonly LedgerRow[]): string[] => rows.map(({ requestId }) => requestId);

export function outboxLaws(implementation: OutboxImplementation): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} outbox`, () => {
    law("a new outbox has no rows, and leaves none", async (open, location) => {
      const outbox = await open();
      expect(outbox.rows).toEqual([]);
      outbox.close();
      expect(await implementation.recover(location)).toEqual([]);
    });

    law("rows are listed until they are marked as stored, oldest first", async (open) => {
      const outbox = await open();
      const rows = [row(), row(), row(), row()];
      outbox.append(rows.slice(0, 2));
      outbox.append([]);
      outbox.append(rows.slice(2));
      expect(outbox.rows).toEqual(rows);
      outbox.markStored(3);
      outbox.markStored(0);
      expect(outbox.rows).toEqual(rows.slice(3));
      outbox.markStored(1);
      expect(outbox.rows).toEqual([]);
    });

    law("every value of a row is recovered, in any script, and once", async (open, location) => {
      const outbox = await open();
      const rows = [
        row({ model: "größer\n– 大 🦦", steps: '"quoted"\u0000', cost: 1e-9, inputTokens: 0 }),
        row({ steps: "x".repeat(2000), project: "", error: "internal", status: 500 }),
        ...awkwardTexts.map((text) => row({ keyId: text, timeline: text })),
      ];
      outbox.append(rows);
      outbox.close();
      expect(await implementation.recover(location)).toEqual(rows);
      expect(await implementation.recover(location)).toEqual([]);
    });

    law(
      "rows that are marked as stored are not recovered, and rows after them are",
      async (open, location) => {
        const outbox = await open();
        const lasting = inFlightRequest("lasting");
        outbox.begin(lasting);
        const rows = [row(), row(), row(), row()];
        outbox.append(rows.slice(0, 3));
        outbox.markStored(2);
        outbox.append(rows.slice(3));
        expect(idsOf(outbox.rows)).toEqual(idsOf(rows.slice(2)));
        outbox.close();
        expect(await implementation.recover(location)).toEqual([
          ...rows.slice(2),
          interruptedRow(lasting),
        ]);
      },
    );

    law("an outbox whose rows are all stored leaves none", async (open, location) => {
      const outbox = await open();
      outbox.begin(inFlightRequest("a"));
      outbox.append([row({ requestId: "a" }), row()]);
      outbox.markStored(2);
      outbox.close();
      expect(await implementation.recover(location)).toEqual([]);
    });

    law(
      "a request in flight is recovered with its estimated cost, unless it has a row or was released",
      async (open, location) => {
        const outbox = await open();
        const [first, settled, stored, released, last] = ["a", "b", "c", "d", "e"].map(
          inFlightRequest,
        );
        for (const each of [first, settled, stored, released, last]) outbox.begin(each!);
        outbox.flush();
        outbox.append([row({ requestId: stored!.requestId })]);
        outbox.markStored(1);
        const pending = row({ requestId: settled!.requestId, cost: 0.01 });
        outbox.append([pending]);
        outbox.release(released!.requestId);
        outbox.release("unknown");
        outbox.close();
        expect(await implementation.recover(location)).toEqual([
          pending,
          interruptedRow(first!),
          interruptedRow(last!),
        ]);
        expect(await implementation.recover(location)).toEqual([]);
      },
    );

    law("requests that are written together are recovered one by one", async (open, location) => {
      const outbox = await open();
      const requests = ["a", "b", "c", "d"].map(inFlightRequest);
      for (const each of requests) outbox.begin(each);
      outbox.release("b");
      outbox.flush();
      outbox.release("c");
      outbox.close();
      const left = requests.filter(({ requestId }) => requestId === "a" || requestId === "d");
      expect(await implementation.recover(location)).toEqual(left.map(interruptedRow));
    });

    law(
      "a request without a known price is recovered without an estimate",
      async (open, location) => {
        const outbox = await open();
        const unpriced = { ...inFlightRequest("a"), estimate: undefined };
        outbox.begin(unpriced);
        outbox.close();
        expect(await implementation.recover(location)).toEqual([interruptedRow(unpriced)]);
      },
    );

    law(
      "an outbox that is in use is not recovered, and abandoned ones are",
      async (open, location) => {
        const [used, left, another] = [await open(), await open(), await open()];
        const rows = [row(), row(), row()];
        used.append([rows[0]!]);
        left.append([rows[1]!]);
        another.append([rows[2]!]);
        left.close();
        another.close();
        expect(idsOf(await implementation.recover(location)).toSorted()).toEqual(
          idsOf(rows.slice(1)),
        );
        expect(used.rows).toEqual([rows[0]!]);
        used.close();
        expect(await implementation.recover(location)).toEqual([rows[0]!]);
      },
    );

    law(
      "a full outbox refuses all rows of an append, and accepts rows when others were stored",
      async (open, location) => {
        const outbox = await open();
        const large = (requestId: string) => row({ requestId, steps: "x".repeat(8000) });
        let count = 0;
        expect(() => {
          for (; count * 8000 <= outboxMaxBytes; count++) {
            outbox.append([large(`l${count}`), row({ requestId: `s${count}` })]);
          }
        }).toThrow();
        expect(count).toBeGreaterThan(2);
        expect(outbox.rows).toHaveLength(2 * count);
        outbox.markStored(2 * count);
        const after = row();
        outbox.append([after]);
        outbox.close();
        expect(await implementation.recover(location)).toEqual([after]);
      },
    );

    law(
      "an outbox stays below its limit, however many requests begin and end during a long one",
      async (open, location) => {
        const outbox = await open();
        const lasting = inFlightRequest("lasting");
        outbox.begin(lasting);
        for (let count = 0; count < 500; count++) {
          const requestId = `short ${count}`;
          outbox.begin(inFlightRequest(requestId));
          outbox.flush();
          outbox.append([row({ requestId, steps: "x".repeat(500) })]);
          outbox.markStored(1);
        }
        const after = row();
        outbox.append([after]);
        outbox.close();
        expect(await implementation.recover(location)).toEqual([after, interruptedRow(lasting)]);
      },
    );

    law("a refused append leaves no part of its rows", async (open, location) => {
      const outbox = await open();
      const before = row();
      outbox.append([before]);
      const rows = Array.from({ length: 20 }, () => row({ steps: "x".repeat(8000) }));
      expect(() => outbox.append(rows)).toThrow();
      expect(outbox.rows).toEqual([before]);
      outbox.close();
      expect(await implementation.recover(location)).toEqual([before]);
    });

    law("a closed outbox refuses rows and requests", async (open, location) => {
      const outbox = await open();
      const only = row();
      outbox.append([only]);
      outbox.close();
      outbox.close();
      expect(() => outbox.append([row()])).toThrow("closed");
      outbox.begin(inFlightRequest("late"));
      expect(() => outbox.flush()).toThrow("closed");
      outbox.markStored(1);
      expect(await implementation.recover(location)).toEqual([only]);
    });

    law("rows and requests in flight are recovered after kill -9", async (_, location) => {
      const ids = await writeUntilKilled("outbox", implementation.name, location);
      expect(ids.length).toBeGreaterThan(5);
      const recovered = await implementation.recover(location);
      const found = new Map(recovered.map((each) => [each.requestId, each]));
      expect(found.size).toBe(recovered.length);
      for (const [at, id] of ids.entries()) {
        const expected =
          at % 2 === 0 ? row({ requestId: id }) : interruptedRow(inFlightRequest(id));
        expect(found.get(id)).toMatchObject({
          status: expected.status,
          estimatedCost: expected.estimatedCost,
          steps: expected.steps,
        });
      }
    });
  });
}
