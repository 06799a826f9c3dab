/** English messages of projects as teams: contacts, archived projects and statements. `zh-teams.ts` has the same keys. */
export const enTeams = {
  "statements.title": "Statements",
  "statements.none": "No statements yet",
  "statements.hint": "A closed month has a statement from the second day of the next month (UTC).",
  "statements.month": "Month (UTC)",
  "statements.charged": "Charged",
  "statements.unpriced": "Requests without a cost",
  "statements.download": "Export CSV of {month}",

  "projects.contact": "Contact",
  "projects.contactHint":
    "An email address that gets the budget alerts of the project. Requires VEXEL_SMTP_URL.",
  "projects.archived": "Archived",
  "projects.showArchived": "Archived projects",
  "projects.archived.none": "No archived projects",
  "projects.archive": "Archive",
  "projects.archive.title": "Archive project {name}?",
  "projects.archive.description":
    "Requests with its API keys are refused until it is restored. Its usage and statements stay.",
  "projects.restore": "Restore",

  "keys.review": "Keys to review",
  "keys.review.all": "All keys",
  "keys.review.unused": "Unused for 90 days",
  "keys.review.expiring": "Expiring soon",

  "users.link.sent":
    "The link was sent to {address}. It works once, expires {time}, and will not be shown again.",
  "users.link.notSent": "The email could not be sent: {problem}.",
  "users.nameHint": "With an email address, the link is also sent there if VEXEL_SMTP_URL is set.",
  "users.keys": "Active API keys that this user created",
  "users.keys.stay": "These keys keep working. Revoke them, or move them to another user.",
  "users.keys.moveTo": "Move all to",
  "users.keys.move": "Move keys",
  "users.keys.revokeAll": "Revoke all",
  "users.keys.more": "{count, number} keys or more. The first ones are listed.",
} as const;
