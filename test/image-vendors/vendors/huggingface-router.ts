/**
 * Vendors behind Hugging Face's router: huggingface_hub 2.4.0, inference/_providers. The router takes a token of
 * Hugging Face, removes the vendor's name from the path, and forwards the request with a key of its own.
 */
import {
  type FakeVendor,
  jsonOf,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";
import { fal } from "./fal.ts";
import { createJobStore } from "./job-server.ts";
import { replicate } from "./replicate.ts";
import { wavespeed } from "./wavespeed.ts";
import { zhipu } from "./zhipu.ts";

const token = "hf_0123456789abcdefghijklmnopqrstuvwx";
const source = "huggingface_hub 2.4.0 (PyPI), inference/_providers";

const unauthorized: VendorResponse = {
  status: 401,
  body: { error: "Invalid username or password." },
};

/** The vendor's request behind `/{name}`, with the vendor's own key. Refuses what the router would refuse. */
function forwarded(
  request: VendorRequest,
  name: string,
  authorization: string,
  query = "",
): VendorRequest {
  if (request.headers.get("authorization") !== `Bearer ${token}`) throw unauthorized;
  const { pathname, search } = new URL(request.path, "http://router");
  if (!pathname.startsWith(`/${name}/`) || search !== query)
    throw { status: 404, body: { error: "Not Found" } };
  const headers = new Headers(request.headers);
  headers.set("authorization", authorization);
  return { ...request, headers, path: pathname.slice(name.length + 1) };
}

const vendorNamed = (vendors: readonly FakeVendor[], name: string): FakeVendor => {
  const found = vendors.find((vendor) => vendor.name === name);
  if (!found) throw new Error(`there is no fake called ${name}`);
  return found;
};

const routed = (
  vendor: FakeVendor,
  name: string,
  scheme: "Bearer" | "Key" = "Bearer",
  query = "",
): FakeVendor => ({
  ...vendor,
  name: `router-${name}`,
  config: { apiKey: token },
  basePath: `/${name}${vendor.basePath ?? ""}`,
  source,
  open: (generator) => {
    const respond = vendor.open(generator);
    const authorization = `${scheme} ${String(vendor.config.apiKey)}`;
    return (request) => respond(forwarded(request, name, authorization, query));
  },
});

const glm = vendorNamed(zhipu, "zhipu-glm-image");

/** Z.ai's asynchronous API: a task, and its result at another path. The synchronous fake makes the image. */
const zai: FakeVendor = {
  ...glm,
  name: "router-zai-org",
  config: { apiKey: token },
  basePath: "/zai-org/api/paas/v4",
  source,
  open: (generator) => {
    const respond = glm.open(generator);
    const jobStore = createJobStore<unknown>();
    const task = (id: string, status: string, more: object = {}) => ({
      body: { id, model: glm.model, request_id: "r", task_status: status, ...more },
    });
    return async (request) => {
      const inner = forwarded(request, "zai-org", `Bearer ${String(glm.config.apiKey)}`);
      const polled = /^\/api\/paas\/v4\/async-result\/([\w-]+)$/.exec(inner.path)?.[1];
      if (polled !== undefined) {
        const found = jobStore.visit(polled);
        if (!found) throw { status: 404, body: { error: { code: "1222", message: "no task" } } };
        return found.done
          ? task(polled, "SUCCESS", { image_result: found.result })
          : task(polled, "PROCESSING");
      }
      jsonOf(inner);
      const path = inner.path.replace("/async/", "/");
      if (path === inner.path) throw { status: 404, body: { error: "Not Found" } };
      const { body } = await respond({ ...inner, path });
      return task(jobStore.leave((body as { data: unknown }).data), "PROCESSING");
    };
  },
};

export const huggingfaceRouter: readonly FakeVendor[] = [
  routed(vendorNamed(fal, "fal-flux-2"), "fal-ai", "Key", "?_subdomain=queue"),
  routed(vendorNamed(replicate, "replicate-flux-2"), "replicate"),
  routed(vendorNamed(wavespeed, "wavespeed"), "wavespeed"),
  zai,
];
