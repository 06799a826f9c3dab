/** A model's name as part of an address: its slashes stay, unless a step of it would lead elsewhere. */
export const modelPath = (model: string): string => {
  const steps = model.split("/");
  if (steps.some((step) => /^\.{0,2}$/.test(step))) return encodeURIComponent(`/${model}`);
  // `@cf/…` is written as it is in every example of Cloudflare's.
  return steps.map((step) => encodeURIComponent(step).replaceAll("%40", "@")).join("/");
};
