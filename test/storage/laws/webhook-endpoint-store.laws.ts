/** Laws (contract tests) of the port `WebhookEndpointStore`, for every implementation. */
import { describe, expect } from "bun:test";
import type { EventStore } from "../../../server/storage/sql/event-store.ts";
import type {
  StoredWebhookEndpoint,
  WebhookEndpointStore,
} from "../../../server/storage/sql/webhook-endpoint-store.ts";
import { type Implementation, lawsOf } from "./backend.ts";

/** Deliveries are in the same storage. */
export interface WebhookEndpointStorage {
  readonly endpoints: WebhookEndpointStore;
  readonly events: EventStore;
  close(): Promise<void>;
}

const endpoint = (
  id: string,
  more: Partial<StoredWebhookEndpoint> = {},
): StoredWebhookEndpoint => ({
  id,
  owner: "project:a",
  name: "mine",
  url: "https://example.com/",
  eventTypes: ["batch.completed", "batch.failed"],
  secret: "encrypted",
  hint: "whsec_...abc",
  previousSecret: null,
  previousUntil: null,
  createdAt: 1_800_000_000_000,
  updatedAt: 1_800_000_000_000,
  ...more,
});

export function webhookEndpointStoreLaws(
  implementation: Implementation<WebhookEndpointStorage>,
): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} webhook endpoint store`, () => {
    law("an endpoint is found, listed, changed and deleted by its owner only", async (open) => {
      const { endpoints } = await open();
      for (const id of ["whe_1", "whe_2", "whe_3"])
        expect(await endpoints.create(endpoint(id), 10)).toBe(true);
      await endpoints.create(endpoint("whe_4", { owner: "project:b" }), 10);
      expect(await endpoints.find("project:a", "whe_1")).toEqual(endpoint("whe_1"));
      expect(await endpoints.find("project:b", "whe_1")).toBeUndefined();
      const listed = await endpoints.list("project:a", { limit: 2 });
      expect(listed.map(({ id }) => id)).toEqual(["whe_3", "whe_2"]);
      expect(await endpoints.list("project:a", { limit: 2, after: "whe_2" })).toEqual([
        endpoint("whe_1"),
      ]);
      const changes = {
        url: "https://other.example/",
        eventTypes: ["image.job.completed"],
        previousSecret: "before",
        previousUntil: 1_900_000_000_000,
        updatedAt: 1_850_000_000_000,
      };
      expect(await endpoints.update("project:b", "whe_1", changes)).toBeUndefined();
      expect(await endpoints.update("project:a", "whe_1", changes)).toEqual(
        endpoint("whe_1", changes),
      );
      const cleared = { previousSecret: null, previousUntil: null };
      expect(await endpoints.update("project:a", "whe_1", cleared)).toMatchObject(cleared);
      expect(await endpoints.remove("project:b", "whe_1")).toBe(false);
      expect(await endpoints.remove("project:a", "whe_1")).toBe(true);
      expect(await endpoints.find("project:a", "whe_1")).toBeUndefined();
    });

    law("an owner has at most as many endpoints as allowed", async (open) => {
      const { endpoints } = await open();
      expect(await endpoints.create(endpoint("whe_1"), 1)).toBe(true);
      expect(await endpoints.create(endpoint("whe_2"), 1)).toBe(false);
      expect(await endpoints.create(endpoint("whe_3", { owner: "key:b" }), 1)).toBe(true);
      const all = await endpoints.all();
      expect(all.map(({ id }) => id).sort()).toEqual(["whe_1", "whe_3"]);
    });

    law("endpoints with pending deliveries are found until they are deleted", async (open) => {
      const { endpoints, events } = await open();
      await endpoints.create(endpoint("whe_1"), 10);
      await endpoints.create(endpoint("whe_2"), 10);
      expect(await endpoints.withPendingDeliveries()).toEqual([]);
      await events.record({ id: "evt_1", type: "batch.completed", at: 1, data: {} }, ["whe_2"]);
      expect(await endpoints.withPendingDeliveries()).toEqual([endpoint("whe_2")]);
      await endpoints.remove("project:a", "whe_2");
      const [recorded] = (await events.list({ limit: 1 })) ?? [];
      expect(recorded?.deliveries[0]).toMatchObject({
        state: "abandoned",
        problem: "the endpoint was deleted",
      });
      expect(await endpoints.withPendingDeliveries()).toEqual([]);
    });
  });
}
