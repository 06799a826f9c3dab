/** GET /pictures/{name}: pictures that were asked for as links. The name is the secret; it expires. */
import type { Outgoing } from "../gateway/incoming.ts";
import { GatewayError } from "../std/gateway-error.ts";
import type { Handler } from "./listen.ts";

export interface PictureShelf {
  find(name: string): Promise<{ path: string; expiresAt: number } | undefined>;
}

export const createPictures =
  (shelf: PictureShelf): Handler =>
  async (incoming, name): Promise<Outgoing> => {
    const found = await shelf.find(name);
    if (!found) {
      throw new GatewayError("unknown_url", "There is no such picture, or it has expired.");
    }
    const file = Bun.file(found.path);
    return {
      status: 200,
      headers: {
        "content-type": file.type,
        "cache-control": `private, max-age=${Math.max(0, Math.floor((found.expiresAt - Date.now()) / 1000))}, immutable`,
        // An SVG opened by itself could otherwise run scripts in our name.
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        "x-content-type-options": "nosniff",
        ...(incoming.method === "HEAD" && { "content-length": String(file.size) }),
      },
      body: await file.bytes(),
    };
  };
