/** What a connection test finds, and conditions that need attention, by message id. */
export const statusMessages = {
  // Steps of a connection test
  dns_resolved: "{host} resolves to {addresses}.",
  dns_link_local:
    "{host} has the address {address}, which is link-local or a metadata service. The gateway does not connect to it.",
  dns_no_answer:
    "The DNS server did not respond for {host}{code}. Check the network of the gateway.",
  dns_unknown: "The host {host} does not exist{code}. Check the base URL.",
  tcp_open: "Port {port} accepts connections.",
  tcp_refused:
    "{address} refused the connection{code}. Check the port, and whether the server is running.",
  tcp_timeout: "The connection to {address} timed out{code}. A firewall may block it.",
  tcp_failed: "Could not connect to {address}{code}.",
  tls_valid: "The certificate is valid for {host}.",
  tls_plain: "The address uses plain HTTP.",
  tls_failed: "The TLS handshake with {address} failed{code}. Check whether the port uses HTTPS.",
  tls_invalid:
    "The certificate of {host} is not valid: {problem}{code}. To trust another certificate authority, set NODE_EXTRA_CA_CERTS.",
  certificate_self_signed: "it is self-signed",
  certificate_unknown_authority: "it is signed by an unknown certificate authority",
  certificate_expired: "it has expired",
  certificate_not_yet_valid: "it is not valid yet",
  certificate_other_host: "it is for another host",
  http_status: "The server responded with status {status}.",
  http_no_list:
    "{request} gave {status}: is the base URL right? It is not known, because some servers have no list of models.",
  http_other_page:
    "{request} gave {status}, but not a list of models: is the base URL right? It is not known.",
  http_timeout: "{host} did not respond within {seconds} s.",
  http_redirect:
    "{host} redirects to another address (status {status}). Set the base URL to that address.",
  http_rate_limit:
    "{host} is rate limiting requests (status 429){message}. Try again later, or check the quota of the account.",
  http_error:
    "{host} returned an error (status {status}){message}. Try again later, or check that the base URL is the address of its API.",
  http_refused:
    "{host} rejected the request (status {status}){message}. Check the base URL, the credential and the options.",
  http_proxy: "Requests to this address go through a proxy.",
  credential_refused:
    "The server rejected the credential (status {status}){message}. Check the credential and its permissions.",
  credential_required:
    "The server requires a credential (status {status}){message}, but none is set.",
  credential_none: "No credential is set.",
  credential_token_accepted: "The vendor's token service accepted the credential.",
  credential_accepted: "The credential is valid.",
  credential_unverified:
    "The vendor offers no free way to check the credential. Send a paid test request to verify it.",
  token_refused:
    "The upstream refused the gateway's credentials. Ask the operator of this gateway to check them. ({reason})",
  token_unavailable: "The upstream's token service is unavailable. Try again later. ({reason})",
  model_responded: "The model responded to the test request.",
  model_timeout: "The model did not respond in time.",
  model_inside: "The model runs inside the gateway.",

  // Conditions that need attention
  ledger_unwritable:
    "The ledger cannot be written. Check the disk of VEXEL_DATA. The Events page has the reason.",
  configuration_rejected: "{problem} The previous configuration stays in force.",
  certificate_rejected: "{problem} The previous certificate stays in force.",
  budget_spent: "{spent} of {limit} ({period})",
  webhook_failures: "{count} failures in a row, the last: {problem}",
  webhook_gone: "The receiver responded with 410 Gone: nothing is sent to it any more.",
  target_failures: "{count} failures in a row, the last: {error}",
  target_rate_limited: "its rate limit is reached",
} as const;
