/** Clients of an HTTPS server with a test certificate. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { type Certificate, selfSigned } from "../certificate-fixture.ts";
import { temporaryFolder } from "../harness.ts";

/** A certificate for 127.0.0.1 and localhost that signs itself. */
export function newCertificate(): Certificate {
  using folder = temporaryFolder();
  return selfSigned(folder.path, "IP:127.0.0.1,DNS:localhost");
}

/** The files of a certificate, and the settings that name them. */
export function certificateFiles(folder: string, { cert, key }: Certificate) {
  const paths = { cert: join(folder, "server.crt"), key: join(folder, "server.key") };
  const write = (pair: Partial<Certificate>): void => {
    if (pair.cert !== undefined) writeFileSync(paths.cert, pair.cert);
    if (pair.key !== undefined) writeFileSync(paths.key, pair.key);
  };
  write({ cert, key });
  return { write, settings: { VEXEL_TLS_CERT: paths.cert, VEXEL_TLS_KEY: paths.key } };
}

interface TlsClientOptions {
  readonly port: number;
  readonly ca: string;
  readonly alpn?: readonly string[];
}

/** Resolves after the handshake, and rejects if it fails. */
export function connectTls({ port, ca, alpn }: TlsClientOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: "127.0.0.1", port, ca, ...(alpn && { ALPNProtocols: [...alpn] }) },
      () => resolve(socket),
    );
    socket.once("error", reject);
  });
}

/** Sends a request and returns the text up to the end of its body, which is `end`. */
export function requestOver(socket: TLSSocket, request: string, end: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const onData = (bytes: Buffer): void => {
      text += bytes.toString("latin1");
      if (!text.endsWith(end)) return;
      socket.off("data", onData);
      resolve(text);
    };
    socket.on("data", onData);
    socket.once("close", () => reject(new Error(`closed after: ${text}`)));
    socket.write(request);
  });
}
