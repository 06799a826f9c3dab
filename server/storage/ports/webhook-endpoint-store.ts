/** Port: the webhook endpoints that clients manage. The signing secrets are encrypted. */

export interface StoredWebhookEndpoint {
  readonly id: string;
  /** The project or the API key to which it belongs (`auth/owner.ts`). */
  readonly owner: string;
  readonly name: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  /** Encrypted. */
  readonly secret: string;
  /** The last characters of the secret. */
  readonly hint: string;
  /** The secret before the last rotation, encrypted, which signs too until `previousUntil`. Null: none. */
  readonly previousSecret: string | null;
  readonly previousUntil: number | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type WebhookEndpointChanges = Partial<
  Omit<StoredWebhookEndpoint, "id" | "owner" | "createdAt">
>;

/** Every method rejects once the store is closed. */
export interface WebhookEndpointStore {
  /** False: the owner has `most` endpoints already. */
  create(endpoint: StoredWebhookEndpoint, most: number): Promise<boolean>;
  /** Undefined: it does not exist, or belongs to another owner. */
  find(owner: string, id: string): Promise<StoredWebhookEndpoint | undefined>;
  /** Newest first. `after`: the id of the last endpoint of the page before. */
  list(
    owner: string,
    page: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<readonly StoredWebhookEndpoint[]>;
  /** Undefined: as `find`. */
  update(
    owner: string,
    id: string,
    changes: WebhookEndpointChanges,
  ): Promise<StoredWebhookEndpoint | undefined>;
  /** Deletes the endpoint, and abandons its pending deliveries. False: as `find`. */
  remove(owner: string, id: string): Promise<boolean>;
  /** The endpoints of all owners. */
  all(): Promise<readonly StoredWebhookEndpoint[]>;
  /** Endpoints with pending deliveries, of all owners. */
  withPendingDeliveries(): Promise<readonly StoredWebhookEndpoint[]>;
}
