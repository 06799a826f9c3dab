/** Every implementation of the event store and its delivery queue obeys their laws. */
import { eventStoreLaws } from "./laws/event-store.laws.ts";
import { eventStorages } from "./laws/implementations.ts";

for (const implementation of eventStorages) eventStoreLaws(implementation);
