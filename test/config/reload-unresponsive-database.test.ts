/** A database of keys and entities that does not respond delays no change of `vexel.yaml`. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openConfiguration } from "../../server/config/reload/open-configuration.ts";
import { createLog } from "../../server/lib/log.ts";
import { readSettings } from "../../server/settings.ts";
import {
  openConfigEntityStore,
  openKeyStore,
} from "../../server/storage/sqlite/gateway-database.ts";
import { secretBoxFor } from "../../server/wiring/storage.ts";
import { inspectModelDirectory } from "../../server/workers/embedding/model-directory.ts";
import { closeAfterEach } from "../clean-up.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";

const closeAfter = closeAfterEach();

/** A configuration whose reads of the database hang from `hang` on, until `respond` is called. */
async function load(yaml: string) {
  const folder = temporaryFolder();
  const path = join(folder.path, "vexel.yaml");
  writeFileSync(path, yaml);
  const settings = readSettings({
    VEXEL_DATA: folder.path,
    VEXEL_CONFIG: path,
    VEXEL_SECRET: "test-secret-0123456789",
  });
  const keys = openKeyStore(folder.path, Date.now);
  const entities = openConfigEntityStore(folder.path, Date.now);
  let responding: Promise<void> = Promise.resolve();
  let hanging = 0;
  const afterResponse = async <T>(read: () => Promise<T>): Promise<T> => {
    hanging++;
    await responding;
    hanging--;
    return read();
  };
  const configuration = await openConfiguration({
    path: settings.VEXEL_CONFIG,
    namedBy: "VEXEL_CONFIG",
    inspectFolder: inspectModelDirectory,
    env: {},
    keys: { ...keys, changesSince: (...args) => afterResponse(() => keys.changesSince(...args)) },
    entities: {
      ...entities,
      changesSince: (version) => afterResponse(() => entities.changesSince(version)),
    },
    log: createLog({
      level: "error",
      format: "json",
      now: () => new Date(),
      write: () => undefined,
    }),
    secrets: secretBoxFor(settings),
    now: Date.now,
    events: () => undefined,
  });
  closeAfter(folder, keys, entities, configuration);
  return {
    configuration,
    entities,
    write: (text: string) => writeFileSync(path, text),
    hanging: () => hanging,
    hang: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      responding = promise;
      return resolve;
    },
  };
}

const model = (id: string): string =>
  `models: [{ id: ${id}, kind: image, targets: [{ upstream: vexel-sketch, model: s }] }]\n`;

test("a change of the file is applied while the database of keys and entities does not respond", async () => {
  const { configuration, entities, write, hang, hanging } = await load(model("first"));
  await entities.put({ kind: "project", id: "stored", value: {} }, 0, 1);
  const respond = hang();
  const applied = configuration.applyEntityChanges();
  await until(() => hanging() === 2);
  write(model("second"));
  await until(() => configuration.snapshot().models.has("second"));
  expect(hanging()).toBe(2);
  respond();
  await applied;
  expect(configuration.snapshot().models.has("second")).toBe(true);
  expect(configuration.snapshot().projects?.has("stored")).toBe(true);
});
