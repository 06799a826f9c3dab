/** The migrations of `events.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../../migrate.ts";
import { eventTables } from "./0001-event-tables.ts";
import { abandonedDeliveries } from "./0002-abandoned-deliveries.ts";

export const eventMigrations: readonly Migration[] = [eventTables, abandonedDeliveries];
