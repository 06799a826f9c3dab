/** Every implementation of the rate limit counters obeys their laws. */
import { localRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import { rateLimitCounterLaws } from "./rate-limit-counters.laws.ts";

rateLimitCounterLaws("local", () => ({ counters: localRateLimitCounters }));
