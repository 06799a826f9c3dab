/** Stores of images behind links obey the laws of their port. */
import { blobStoreLaws } from "./laws/blob-store.laws.ts";
import { blobStores } from "./laws/implementations.ts";
import { s3BlobStore } from "./laws/s3-implementations.ts";

for (const implementation of [...blobStores, s3BlobStore]) blobStoreLaws(implementation);
