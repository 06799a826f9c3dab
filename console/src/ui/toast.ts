/** Short messages that an action is done. `toasts.tsx` shows them; errors stay beside their forms instead. */
import { useSyncExternalStore } from "react";

interface ShownToast {
  readonly id: number;
  readonly text: string;
}

const maxShown = 3;

let toasts: readonly ShownToast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function replace(next: readonly ShownToast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Shows a translated message for a few seconds, such as "Saved". */
export function showToast(text: string): void {
  lastId += 1;
  replace([...toasts, { id: lastId, text }].slice(-maxShown));
}

export const closeToast = (id: number): void => replace(toasts.filter((toast) => toast.id !== id));

export const useToasts = (): readonly ShownToast[] => useSyncExternalStore(subscribe, () => toasts);
