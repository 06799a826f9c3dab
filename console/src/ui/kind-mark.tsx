/** The initials of a kind of upstream, in a color that is always the same for it. */

const colors = 8;

/** Such as OP for `openai` and AA for `azure-ai`. */
const initialsOf = (kind: string): string => {
  const [first = "", second] = kind.split("-");
  return (second ? `${first.charAt(0)}${second.charAt(0)}` : first.slice(0, 2)).toUpperCase();
};

const colorOf = (kind: string): number =>
  1 + ([...kind].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9973, 7) % colors);

/** Beside the name, so that screen readers skip it, and no part of the text that people copy. */
export const KindMark = ({ kind }: { kind: string }) => (
  <span
    aria-hidden="true"
    title={kind}
    data-initials={initialsOf(kind)}
    className="inline-grid size-5 shrink-0 place-items-center rounded text-[0.625rem] font-semibold text-ink before:content-[attr(data-initials)]"
    style={{
      backgroundColor: `color-mix(in srgb, var(--series-${colorOf(kind)}) 25%, var(--surface))`,
    }}
  />
);
