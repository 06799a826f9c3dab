/** An API key for the laws of the key store. */
import type { NewKey } from "../../../server/storage/sql/stored-key.ts";

export const newKey = (id: string, more: Partial<NewKey> = {}): NewKey => ({
  id,
  name: `name of ${id}`,
  hash: `hash of ${id}`,
  hint: "sk-vx-abcd",
  models: ["*"],
  createdAt: 1000,
  ...more,
});
