/** Which injected fault applies to which request of the fake upstream. */

import type { InjectedFault } from "./injected-fault.ts";
import type { RecordedRequest } from "./request.ts";

export interface FaultScope {
  /** The number of requests it applies to. Default: 1. */
  readonly times?: number;
  readonly when?: (request: RecordedRequest) => boolean;
}

interface ScriptedFault {
  readonly fault: InjectedFault;
  readonly when: (request: RecordedRequest) => boolean;
  remaining: number;
}

/** The first script that matches applies, in the order in which they were added. */
export class Scripts {
  #entries: ScriptedFault[] = [];

  add(fault: InjectedFault, { times = 1, when = () => true }: FaultScope = {}): void {
    this.#entries.push({ fault, when, remaining: times });
  }

  clear(): void {
    this.#entries = [];
  }

  /** `early` faults apply before the request body is read, the others after. */
  take(request: RecordedRequest, early: boolean): InjectedFault | undefined {
    const entry = this.#entries.find(
      ({ fault, when, remaining }) =>
        remaining > 0 && (fault.early ?? false) === early && when(request),
    );
    if (!entry) return undefined;
    entry.remaining -= 1;
    return entry.fault;
  }
}
