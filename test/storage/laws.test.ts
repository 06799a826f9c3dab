/**
 * The implementations that need no server obey the laws of their ports.
 * PostgreSQL has postgres-laws.slow.test.ts, Redis has redis-laws.slow.test.ts.
 */
import type { Implementation } from "./laws/backend.ts";
import { blobStoreLaws } from "./laws/blob-store.laws.ts";
import { configEntityStoreLaws } from "./laws/config-entity-store.laws.ts";
import { consoleStoreLaws } from "./laws/console-stores.laws.ts";
import { embeddingCacheStoreLaws } from "./laws/embedding-cache-store.laws.ts";
import { eventStoreLaws } from "./laws/event-store.laws.ts";
import { fileIndexLaws } from "./laws/file-index.laws.ts";
import { fileStoreLaws } from "./laws/file-store.laws.ts";
import {
  blobStores,
  configEntityStores,
  consoleStores,
  embeddingCacheStores,
  eventStorages,
  fileIndexes,
  fileStores,
  jobStores,
  keyStores,
  ledgers,
  outboxes,
  responseStores,
  uploadStores,
  webhookEndpointStorages,
} from "./laws/implementations.ts";
import { jobStoreLaws } from "./laws/job-store.laws.ts";
import { keyStoreLaws } from "./laws/key-store.laws.ts";
import { ledgerLabelLaws } from "./laws/ledger-label.laws.ts";
import { ledgerStoreLaws } from "./laws/ledger-store.laws.ts";
import { ledgerUsageLaws } from "./laws/ledger-usage.laws.ts";
import { outboxLaws } from "./laws/outbox.laws.ts";
import { responseStoreLaws } from "./laws/response-store.laws.ts";
import { s3BlobStore, s3FileStore, s3ResponseStore } from "./laws/s3-implementations.ts";
import { uploadStoreLaws } from "./laws/upload-store.laws.ts";
import { usageTotalsLaws } from "./laws/usage-totals.laws.ts";
import { webhookEndpointStoreLaws } from "./laws/webhook-endpoint-store.laws.ts";

const hold = <I extends Implementation<unknown>>(
  laws: (implementation: I) => void,
  implementations: readonly I[],
): void => implementations.forEach((each) => void laws(each));

hold(keyStoreLaws, keyStores);
hold(configEntityStoreLaws, configEntityStores);
hold(consoleStoreLaws, consoleStores);
hold(eventStoreLaws, eventStorages);
hold(jobStoreLaws, jobStores);
hold(ledgerStoreLaws, ledgers);
hold(ledgerLabelLaws, ledgers);
hold(ledgerUsageLaws, ledgers);
hold(usageTotalsLaws, ledgers);
hold(embeddingCacheStoreLaws, embeddingCacheStores);
hold(blobStoreLaws, [...blobStores, s3BlobStore]);
hold(responseStoreLaws, [...responseStores, s3ResponseStore]);
hold(fileStoreLaws, [...fileStores, s3FileStore]);
hold(fileIndexLaws, fileIndexes);
hold(uploadStoreLaws, uploadStores);
hold(webhookEndpointStoreLaws, webhookEndpointStorages);
hold(outboxLaws, outboxes);
