/** A gateway in front of one image upstream, whose responses the test decides. */
import { closeAfterAll } from "../clean-up.ts";
import { type GatewayOptions, startGateway, testKey } from "../harness.ts";

interface ImageGatewayOptions
  extends Partial<Pick<GatewayOptions, "settings" | "maxResponseBytes">> {
  readonly respond: (request: Request) => Response | Promise<Response>;
  /** Upstreams and models. `url`: the address of the upstream. */
  readonly yaml: (url: string) => string;
  /** The model of `generate`, unless its body names another. */
  readonly model: string;
}

/** Gateway and upstream are closed after all tests of the file. */
export function startImageGateway({ respond, yaml, model, ...options }: ImageGatewayOptions) {
  const upstream = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: respond });
  const url = `http://127.0.0.1:${upstream.port}`;
  const gateway = startGateway({
    yaml: `${yaml(url)}\nkeys: [{ name: test, key: ${testKey} }]\n`,
    ...options,
  });
  closeAfterAll(gateway, upstream);
  const generate = (body: object = {}, headers: Record<string, string> = {}) =>
    gateway.post("/v1/images/generations", { model, prompt: "x", ...body }, headers);
  return { gateway, url, generate };
}

/** The error of a response. */
export const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string; message: string; param: string } }).error;
