/** A process that writes to a store until it is killed, and prints the id of each write that was acknowledged. */
import type { Implementation } from "./backend.ts";
import { configEntityStores, keyStores } from "./implementations.ts";
import { newKey } from "./new-key.ts";

const [writer = "", name = "", location = ""] = process.argv.slice(2);

const find = <Store>(implementations: readonly Implementation<Store>[]): Promise<Store> => {
  const found = implementations.find((implementation) => implementation.name === name);
  if (!found) throw new Error(`there is no implementation named ${name}`);
  return found.open(location, Date.now);
};

const writers: Readonly<Record<string, () => Promise<(id: string) => Promise<unknown>>>> = {
  keys: async () => {
    const store = await find(keyStores);
    return (id) => store.create(newKey(id));
  },
  entities: async () => {
    const store = await find(configEntityStores);
    return (id) => store.put({ kind: "model", id, value: { id } }, 0, Date.now());
  },
};

const write = await writers[writer]?.();
for (let at = 0; write; at++) {
  await write(`w${at}`);
  process.stdout.write(`w${at}\n`);
}
