/** Stores of idempotent responses obey the laws of their port. */

import { responseStores } from "./laws/implementations.ts";
import { responseStoreLaws } from "./laws/response-store.laws.ts";
import { s3ResponseStore } from "./laws/s3-implementations.ts";

for (const implementation of [...responseStores, s3ResponseStore]) {
  responseStoreLaws(implementation);
}
