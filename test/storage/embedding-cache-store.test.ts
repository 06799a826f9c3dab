/** Persisted embedding caches obey the laws of their port. */
import { embeddingCacheStoreLaws } from "./laws/embedding-cache-store.laws.ts";
import { embeddingCacheStores } from "./laws/implementations.ts";

for (const implementation of embeddingCacheStores) embeddingCacheStoreLaws(implementation);
