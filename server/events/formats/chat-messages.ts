/** Events as messages of Slack and Microsoft Teams, in the bodies that their incoming webhooks accept. */

import type { StoredEvent } from "../../storage/sql/event-store.ts";
import { type DescribedEvent, describeEvent } from "./describe-event.ts";

const marks: Readonly<Record<DescribedEvent["tone"], string>> = {
  bad: "🔴",
  good: "🟢",
  neutral: "🔵",
};
/** docs.slack.dev/reference/block-kit/blocks/header-block: at most 150 characters. */
const maxHeader = 150;

/** docs.slack.dev/messaging/sending-messages-using-incoming-webhooks. `text` is for notifications. */
export function slackMessage(event: StoredEvent): object {
  const { title, facts, tone } = describeEvent(event);
  const heading = `${marks[tone]} ${title}`;
  return {
    text: escapeSlack(heading),
    blocks: [
      {
        type: "header",
        text: { type: "plain_text", text: heading.slice(0, maxHeader), emoji: true },
      },
      {
        type: "section",
        fields: facts.map(([name, value]) => ({
          type: "mrkdwn",
          text: `*${escapeSlack(name)}*\n${escapeSlack(value)}`,
        })),
      },
    ],
  };
}

/** docs.slack.dev/messaging/formatting-message-text: only these three characters are escaped. */
const escapeSlack = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const colors: Readonly<Record<DescribedEvent["tone"], string>> = {
  bad: "attention",
  good: "good",
  neutral: "accent",
};

/** An Adaptive Card, as the workflow "Post to a channel when a webhook request is received" expects it. */
export function teamsMessage(event: StoredEvent): object {
  const { title, facts, tone } = describeEvent(event);
  return {
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        contentUrl: null,
        content: {
          $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
          type: "AdaptiveCard",
          version: "1.4",
          body: [
            {
              type: "TextBlock",
              text: title,
              size: "Large",
              weight: "Bolder",
              color: colors[tone],
              wrap: true,
            },
            {
              type: "FactSet",
              facts: facts.map(([name, value]) => ({ title: name, value })),
            },
          ],
        },
      },
    ],
  };
}
