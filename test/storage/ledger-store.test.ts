/** Every implementation of the ledger obeys its laws. */
import { ledgers } from "./laws/implementations.ts";
import { ledgerStoreLaws } from "./laws/ledger-store.laws.ts";

for (const implementation of ledgers) ledgerStoreLaws(implementation);
