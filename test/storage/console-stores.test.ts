/** The stores of the console, held to their laws. */
import { consoleStoreLaws } from "./laws/console-stores.laws.ts";
import { consoleStores } from "./laws/implementations.ts";

for (const implementation of consoleStores) consoleStoreLaws(implementation);
