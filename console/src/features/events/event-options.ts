/** The event types, and patterns for several of them. */
import { eventTypes } from "../../../../contract/events.ts";
import { optionsOf } from "../../ui/select.tsx";

export const eventOptions = optionsOf([
  "alert.*",
  "budget.*",
  "target.*",
  ...Object.keys(eventTypes),
]);
