/** Stores of idempotent responses obey the laws of their port. */

import { responseStores } from "./laws/implementations.ts";
import { responseStoreLaws } from "./laws/response-store.laws.ts";

for (const implementation of responseStores) responseStoreLaws(implementation);
