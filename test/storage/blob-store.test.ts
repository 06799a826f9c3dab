/** Stores of images behind links obey the laws of their port. */
import { blobStoreLaws } from "./laws/blob-store.laws.ts";
import { blobStores } from "./laws/implementations.ts";

for (const implementation of blobStores) blobStoreLaws(implementation);
