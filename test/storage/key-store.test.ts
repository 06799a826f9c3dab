/** API key stores obey the laws of their port. */
import { keyStores } from "./laws/implementations.ts";
import { keyStoreLaws } from "./laws/key-store.laws.ts";

for (const implementation of keyStores) keyStoreLaws(implementation);
