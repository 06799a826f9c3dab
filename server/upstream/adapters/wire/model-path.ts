/** A model's name as part of a URL path: slashes stay, path traversal does not. */
export const modelPath = (model: string): string => {
  const steps = model.split("/");
  if (steps.some((step) => /^\.{0,2}$/.test(step))) return encodeURIComponent(`/${model}`);
  // `@cf/…` is not encoded in any of Cloudflare's examples.
  return steps.map((step) => encodeURIComponent(step).replaceAll("%40", "@")).join("/");
};
