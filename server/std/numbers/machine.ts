/** The machine that checks and decodes numbers, and its memory. */
import { assemble } from "./assemble.ts";

interface Machine {
  readonly memory: WebAssembly.Memory;
  look(from: number, end: number): number;
  decode(from: number, end: number, to: number): number;
  check(from: number, end: number): number;
}

export const machine = assemble<Machine>("numbers.wasm");

const pageBytes = 64 * 1024;
/** Beyond what was asked for: the machine looks at whole steps, and decodes in larger ones. */
const spare = 64;

/** The machine's own memory, so that what lies there need not be copied to it. */
let desk = Buffer.from(machine ? machine.memory.buffer : new ArrayBuffer(pageBytes));

/** A place for so many bytes, and a step more. What lies there is overwritten by the next who asks. */
export function deskFor(bytes: number): Buffer<ArrayBuffer> {
  const missing = bytes + spare - desk.length;
  if (missing > 0 && machine) {
    machine.memory.grow(Math.ceil(missing / pageBytes));
    desk = Buffer.from(machine.memory.buffer);
  } else if (missing > 0) desk = Buffer.from(new ArrayBuffer(bytes + spare));
  return desk as Buffer<ArrayBuffer>;
}
