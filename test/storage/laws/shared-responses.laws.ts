/** Laws (contract tests) of the port `SharedResponses`, for every implementation. */
import { describe, expect } from "bun:test";
import { randomUUID } from "node:crypto";
import type { StoredResponse } from "../../../server/storage/ports/response-store.ts";
import type { SharedResponses } from "../../../server/storage/ports/shared-responses.ts";
import { awkwardTexts, type Implementation, lawsOf } from "./backend.ts";
import { responseTtlMs } from "./response-store.laws.ts";

const metadata = {
  requestId: "req_1",
  fingerprint: "f".repeat(64),
  headers: { "content-type": "application/json", "x-text": "Grüße" },
  isAbandoned: true,
} as const;

const start = 1_800_000_000_000;

/** A response in the data folder of a replica. */
function localResponse(body: Uint8Array, chunkBytes = 64 * 1024): StoredResponse {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length; at += chunkBytes) yield body.slice(at, at + chunkBytes);
  }
  return { ...metadata, length: body.length, open: chunks };
}

/** Copies a body and names it. Returns the id of the body. */
async function share(
  store: SharedResponses,
  names: readonly string[],
  text: string | Uint8Array,
): Promise<string> {
  const id = randomUUID();
  const body = Buffer.from(text as string);
  await store.copy(id, localResponse(body));
  await store.name(id, body.length, names, metadata);
  return id;
}

async function bodyOf(response: StoredResponse | undefined): Promise<Buffer | undefined> {
  if (!response) return undefined;
  const body = Buffer.concat(await Array.fromAsync(response.open()));
  expect(body).toHaveLength(response.length);
  return body;
}

const read = async (store: SharedResponses, name: string): Promise<string | undefined> =>
  (await bodyOf(await store.find(name)))?.toString();

export function sharedResponsesLaws(implementation: Implementation<SharedResponses>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} shared responses`, () => {
    law("a response is found by every replica and name, with its metadata", async (open) => {
      const [one, other] = [await open(), await open()];
      await share(one, ["a", "b"], "the images");
      for (const store of [one, other]) {
        expect(await store.find("a")).toMatchObject({ ...metadata, length: 10 });
        expect(await read(store, "a")).toBe("the images");
        expect(await read(store, "b")).toBe("the images");
        expect(await store.find("c")).toBeUndefined();
      }
    });

    law("a copied body is not visible until it has a name", async (open) => {
      const [one, other] = [await open(), await open()];
      await share(one, ["a"], "earlier");
      const id = randomUUID();
      await one.copy(id, localResponse(Buffer.from("later")));
      expect(await read(other, "a")).toBe("earlier");
      expect(await other.find(id)).toBeUndefined();
      await one.name(id, 5, ["a"], metadata);
      expect(await read(other, "a")).toBe("later");
    });

    law("a body gets more names after the first one", async (open) => {
      const store = await open();
      const id = await share(store, ["a"], "body");
      await store.name(id, 4, ["b", "c"], { ...metadata, requestId: "req_2" });
      expect(await read(store, "a")).toBe("body");
      expect(await read(store, "c")).toBe("body");
      expect((await store.find("a"))?.requestId).toBe("req_1");
      expect((await store.find("b"))?.requestId).toBe("req_2");
    });

    law("a later response replaces the earlier one, which is still read whole", async (open) => {
      const [one, other] = [await open(), await open()];
      const earlier = "earlier ".repeat(300_000);
      await share(one, ["a"], earlier);
      const reading = await one.find("a");
      await share(other, ["a"], "later");
      expect(await read(one, "a")).toBe("later");
      expect((await bodyOf(reading))?.toString()).toBe(earlier);
    });

    law("bodies of any length are read back exactly", async (open) => {
      const store = await open();
      const mebibyte = 1024 * 1024;
      for (const length of [0, 1, mebibyte - 1, mebibyte, 2 * mebibyte + mebibyte / 2]) {
        const body = Buffer.alloc(length);
        for (let at = 0; at < length; at++) body[at] = (at * 31 + (at >> 8)) & 0xff;
        await share(store, [`of ${length}`], body);
        const found = await bodyOf(await store.find(`of ${length}`));
        expect(found?.equals(body), `${length} bytes`).toBe(true);
      }
    });

    law("metadata are kept in any script", async (open) => {
      const store = await open();
      for (const [at, text] of awkwardTexts.entries()) {
        const id = randomUUID();
        const about = { requestId: text, fingerprint: text, headers: { "x-text": text } };
        await store.copy(id, localResponse(Buffer.from(text)));
        await store.name(id, Buffer.byteLength(text), [`name-${at}`], about);
        expect(await store.find(`name-${at}`)).toMatchObject(about);
      }
    });

    law("only the metadata of a response are stored, not its other values", async (open) => {
      const store = await open();
      const id = randomUUID();
      const response = localResponse(Buffer.from("body"));
      await store.copy(id, response);
      await store.name(id, 4, ["a"], response);
      expect(Object.keys((await store.find("a")) ?? {}).toSorted()).toEqual([
        "fingerprint",
        "headers",
        "isAbandoned",
        "length",
        "open",
        "requestId",
      ]);
    });

    law("the bodies of two concurrent replicas are not mixed", async (open) => {
      const replicas = [await open(), await open()];
      const names = Array.from({ length: 10 }, (_, at) => `name-${at}`);
      await Promise.all(
        names.map((name, at) => share(replicas[at % 2]!, [name], `${name};`.repeat(20_000))),
      );
      for (const name of names) {
        expect(await read(replicas[0]!, name)).toBe(`${name};`.repeat(20_000));
      }
    });

    law("a copy whose source fails is not found", async (open) => {
      const store = await open();
      const id = randomUUID();
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield Buffer.from("half");
        throw new Error("the file is gone");
      }
      await expect(store.copy(id, { ...metadata, length: 8, open: failing })).rejects.toThrow();
      expect(await store.find(id)).toBeUndefined();
      await share(store, ["a"], "another");
      expect(await read(store, "a")).toBe("another");
    });

    law("a response expires", async (open) => {
      let now = start;
      const store = await open(() => now);
      await share(store, ["a"], "body");
      now += responseTtlMs - 1;
      expect(await read(store, "a")).toBe("body");
      now += 1;
      expect(await store.find("a")).toBeUndefined();
    });

    law("a sweep of any replica deletes expired responses, and no others", async (open) => {
      // An object store has a clock of its own, so the clock begins at the current time.
      const begin = Date.now();
      let now = begin;
      const [one, sweeping] = [await open(() => begin), await open(() => now)];
      for (let at = 0; at < 25; at++) await share(one, [`name-${at}`], "body");
      await sweeping.sweep();
      for (let at = 0; at < 10; at++) expect(await read(one, `name-${at}`)).toBe("body");
      now += responseTtlMs + 130_000;
      await sweeping.sweep();
      // By this clock the responses have not expired.
      for (let at = 0; at < 25; at++) expect(await one.find(`name-${at}`)).toBeUndefined();
    });
  });
}
