/** Stores of configuration entities obey the laws of their port. */
import { configEntityStoreLaws } from "./laws/config-entity-store.laws.ts";
import { configEntityStores } from "./laws/implementations.ts";

for (const implementation of configEntityStores) configEntityStoreLaws(implementation);
