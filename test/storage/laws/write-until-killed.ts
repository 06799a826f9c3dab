/**
 * A process that writes to a store until it is killed, and prints the id or name of each write that was acknowledged.
 */
import { ledgerRow } from "../../ledger/ledger-fixture.ts";
import type { Implementation } from "./backend.ts";
import {
  blobStores,
  configEntityStores,
  keyStores,
  outboxes,
  responseStores,
} from "./implementations.ts";
import { newKey } from "./new-key.ts";
import { inFlightRequest } from "./outbox.laws.ts";
import { postgresConfigEntityStore, postgresKeyStore } from "./postgres-implementations.ts";
import { redisRequestClaims } from "./redis-implementations.ts";
import { s3BlobStore, s3ResponseStore } from "./s3-implementations.ts";

const [writer = "", name = "", location = ""] = process.argv.slice(2);

const find = <Store>(implementations: readonly Implementation<Store>[]): Promise<Store> => {
  const found = implementations.find((implementation) => implementation.name === name);
  if (!found) throw new Error(`there is no implementation named ${name}`);
  return found.open(location, Date.now);
};

const writers: Readonly<Record<string, () => Promise<(id: string) => Promise<unknown>>>> = {
  keys: async () => {
    const store = await find([...keyStores, postgresKeyStore]);
    return (id) => store.create(newKey(id));
  },
  responses: async () => {
    const store = await find([...responseStores, s3ResponseStore]);
    return async (id) => {
      const response = store.begin("key_1");
      for (let part = 0; part < 20; part++) response.append(`${id};`);
      await response.commit([id], { requestId: id, fingerprint: "f", headers: {} });
    };
  },
  blobs: async () => {
    const store = await find([...blobStores, s3BlobStore]);
    return async () => {
      const { name } = await store.put(Buffer.alloc(100_000, 7), {
        type: "image/png",
        ttlMs: 3_600_000,
      });
      return name;
    };
  },
  entities: async () => {
    const store = await find([...configEntityStores, postgresConfigEntityStore]);
    return (id) => store.put({ kind: "model", id, value: { id } }, 0, Date.now());
  },
  outbox: async () => {
    const outbox = await find(outboxes);
    let count = 0;
    return async (id) => {
      outbox.begin(inFlightRequest(id));
      outbox.flush();
      // Every second request is in flight when the process is killed.
      if (count++ % 2 === 0) outbox.append([ledgerRow(Date.now(), { requestId: id })]);
    };
  },
  claims: async () => {
    const { claims } = await find([redisRequestClaims]);
    return (name) => claims.claim({ name, requestId: name, fingerprint: "f" });
  },
};

const write = await writers[writer]?.();
for (let at = 0; write; at++) {
  const id = `w${at}`;
  const written = await write(id);
  process.stdout.write(`${typeof written === "string" ? written : id}\n`);
}
