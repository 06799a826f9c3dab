/** A configuration that is reloaded, without the rest of a gateway. */
import type { EventData } from "../../contract/events.ts";
import { openConfiguration } from "../../server/config/reload/open-configuration.ts";
import { createLog } from "../../server/lib/log.ts";
import { SecretBox } from "../../server/storage/encrypt-secret.ts";
import type { ConfigEntityStore } from "../../server/storage/sql/config-entity-store.ts";
import type { KeyStore } from "../../server/storage/sql/key-store.ts";
import {
  openConfigEntityStore,
  openKeyStore,
} from "../../server/storage/sqlite/gateway-database.ts";
import { temporaryFolder } from "../harness.ts";

interface FixtureOptions {
  readonly path: string;
  readonly keys?: (keys: KeyStore) => KeyStore;
  readonly entities?: (entities: ConfigEntityStore) => ConfigEntityStore;
  readonly now?: () => number;
  readonly pollMs?: { readonly file?: number; readonly store?: number };
}

export async function openTestConfiguration(options: FixtureOptions) {
  const folder = temporaryFolder();
  const keys = openKeyStore(folder.path, Date.now);
  const entities = openConfigEntityStore(folder.path, Date.now);
  /** The problems of each rejected file, and the changes of each reload. */
  const reports: (readonly string[])[] = [];
  const reloads: string[] = [];
  const lines: string[] = [];
  const configuration = await openConfiguration({
    path: options.path,
    namedBy: undefined,
    env: {},
    keys: options.keys?.(keys) ?? keys,
    entities: options.entities?.(entities) ?? entities,
    secrets: new SecretBox({ folder: folder.path, secret: "s".repeat(32), previous: [] }),
    inspectFolder: () => [],
    log: createLog({
      level: "debug",
      format: "json",
      now: () => new Date(),
      write: (line) => lines.push(line),
    }),
    now: options.now ?? Date.now,
    events: () => ({
      emit: (event) => {
        if (event.type === "config.rejected") reports.push((event.data as Rejected).problems);
        if (event.type === "config.reloaded") reloads.push((event.data as Reloaded).changes);
      },
      onKeysChanged: async () => undefined,
    }),
    ...(options.pollMs && { pollMs: options.pollMs }),
  });
  return {
    ...configuration,
    store: entities,
    reports,
    reloads,
    log: () => lines.join(""),
    has: (id: string) => configuration.snapshot().models.has(id),
    close: async () => {
      configuration.close();
      await Promise.all([keys.close(), entities.close()]);
      folder[Symbol.dispose]();
    },
  };
}

type Rejected = EventData["config.rejected"];
type Reloaded = EventData["config.reloaded"];
