/** GET /pictures/{name}: pictures that were asked for as links. The name is the secret; it expires. */
import type { Outgoing } from "../gateway/incoming.ts";
import { GatewayError } from "../std/gateway-error.ts";
import type { Handler } from "./listen.ts";

export interface PictureShelf {
  find(name: string): Promise<{ path: string; leftMs: number } | undefined>;
}

export const createPictures =
  (shelf: PictureShelf): Handler =>
  async (_, name): Promise<Outgoing> => {
    const found = await shelf.find(name);
    if (!found) throw gone();
    const file = Bun.file(found.path);
    // It may expire, and be taken away, at this very moment.
    const bytes = await file.bytes().catch(() => {
      throw gone();
    });
    return {
      status: 200,
      headers: {
        "content-type": file.type,
        "cache-control": `private, max-age=${Math.floor(found.leftMs / 1000)}, immutable`,
        // An SVG opened by itself could otherwise run scripts in our name.
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        "x-content-type-options": "nosniff",
      },
      body: bytes,
    };
  };

const gone = (): GatewayError =>
  new GatewayError("unknown_url", "There is no such picture, or it has expired.");
