/** Shared code of fakes whose vendors have jobs that are polled. */
import { sniffImage } from "../../../server/lib/sniff-image.ts";
import type { VendorResponse } from "../image-vendor.ts";

/** Stores jobs by their id. */
export interface JobStore<T> {
  leave(result: T): string;
  /** The status and the result of a job. Undefined for an unknown job id. */
  visit(id: string): { readonly done: boolean; readonly result: T } | undefined;
}

/** The second job takes longer than the others: it needs another poll. */
const slow = 2;

export function createJobStore<T>(): JobStore<T> {
  const jobs = new Map<string, { left: number; readonly result: T }>();
  return {
    leave: (result) => {
      const number = jobs.size + 1;
      const id = `5f3c7d1e-0000-4000-8000-${String(number).padStart(12, "0")}`;
      jobs.set(id, { left: number === slow ? 1 : 0, result });
      return id;
    },
    visit: (id) => {
      const job = jobs.get(id);
      return job && { done: job.left-- <= 0, result: job.result };
    },
  };
}

/** Base64 as it is, without anything around it. */
export function plainImage(value: unknown, refuse: () => VendorResponse): Uint8Array {
  const text = typeof value === "string" ? value : "";
  const bytes = Buffer.from(text, "base64");
  if (text === "" || bytes.toString("base64") !== text || !sniffImage(bytes)) throw refuse();
  return bytes;
}

/** The image of a data URL. A data URL with a wrong media type is refused. */
export function wrappedImage(value: unknown, refuse: () => VendorResponse): Uint8Array {
  const [, type, base64] = /^data:(image\/\w+);base64,(.*)$/s.exec(String(value)) ?? [];
  const bytes = plainImage(base64, refuse);
  if (sniffImage(bytes) !== type) throw refuse();
  return bytes;
}

/** A whole number within its bounds, or nothing. */
export function isWhole(value: unknown, from: number, to: number): boolean {
  if (value === undefined) return true;
  return Number.isInteger(value) && Number(value) >= from && Number(value) <= to;
}

/** Whatever of these there is. */
export const present = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
