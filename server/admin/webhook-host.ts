/** The path of a webhook URL may be a credential, as Slack's is: the host alone is for everybody. */
export function webhookHost(url: string): string {
  if (url === "") return "";
  return url.startsWith("mailto:") ? "mailto:" : new URL(url).origin;
}
