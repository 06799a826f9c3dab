/** The interface of image downloads and of their SSRF guard: other code imports this file only. */
export { hasCredentials, isMetadataHost, isPrivateHost } from "./address-ranges.ts";
export { createDownload } from "./download.ts";
export { guardLinkLocal, resolveAllowed } from "./link-local-guard.ts";
export { checkPublicUrl, guardPublic } from "./public-guard.ts";
export { type Resolve, systemResolve, trustedHost } from "./ssrf-guard.ts";
