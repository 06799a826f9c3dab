/** What a connection test finds, and conditions that need attention, by message id. */
export const statusMessages = {
  // Steps of a connection test
  dns_resolved: "{host} resolves to {addresses}.",
  dns_link_local:
    "{host} has the address {address}, which is link-local or a metadata service. The gateway does not connect to it.",
  dns_no_answer:
    "The name server did not answer for {host}{code}. Check the network of the gateway.",
  dns_unknown: "The name {host} does not exist{code}. Check the base URL.",
  tcp_open: "Port {port} accepts connections.",
  tcp_refused: "Nothing listens at {address}{code}. Check the port, and whether the server runs.",
  tcp_timeout: "{address} did not accept a connection in time{code}. A firewall may block it.",
  tcp_failed: "{address} cannot be connected to{code}.",
  tls_valid: "The certificate is valid for {host}.",
  tls_plain: "The address is plain http.",
  tls_failed: "The TLS handshake with {address} failed{code}. Check whether the port speaks https.",
  tls_invalid:
    "The certificate of {host} is not valid: {problem}{code}. To trust another authority, set NODE_EXTRA_CA_CERTS.",
  certificate_self_signed: "it is self-signed",
  certificate_unknown_authority: "it is signed by an authority that the gateway does not know",
  certificate_expired: "it has expired",
  certificate_not_yet_valid: "it is not valid yet",
  certificate_other_host: "it is for another host name",
  http_status: "The server responded with status {status}.",
  http_timeout: "{host} sent no response within {seconds} s.",
  http_redirect:
    "{host} redirects to another address (status {status}). Set the base URL to that address.",
  http_rate_limit:
    "{host} limits the rate of requests (status 429){message}. Test it later, or check the quota of the account.",
  http_error:
    "{host} has an error (status {status}){message}. Test it later, or check that the base URL is the address of its API.",
  http_refused:
    "{host} refuses the request (status {status}){message}. Check the base URL, the credential and the options.",
  http_proxy: "Requests to this address go through a proxy.",
  credential_refused:
    "The server refuses the credential (status {status}){message}. Check it and its permissions.",
  credential_required:
    "The server requires a credential (status {status}){message}, and none is set.",
  credential_none: "No credential is set.",
  credential_token_accepted: "The vendor's token service accepted the credential.",
  credential_accepted: "The credential is accepted.",
  credential_unverified:
    "The vendor has no free request that checks a credential. A test that may cost money does.",
  token_refused:
    "The upstream refused the gateway's credentials. Ask the operator of this gateway to check them. ({reason})",
  token_unavailable: "The upstream's token service is unavailable. Retry later. ({reason})",
  model_responded: "The model responded to a request that may cost money.",
  model_timeout: "The model did not respond in time.",
  model_inside: "The model runs inside the gateway.",

  // Conditions that need attention
  ledger_unwritable:
    "Rows cannot be written. Check the disk of VEXEL_DATA; the events have the reason.",
  configuration_rejected: "{problem} The previous configuration stays in force.",
  certificate_rejected: "{problem} The previous certificate stays in force.",
  budget_spent: "{spent} of {limit} ({period})",
  target_failures: "{count} failures in a row, the last: {error}",
  target_rate_limited: "its rate limit is reached",
} as const;
