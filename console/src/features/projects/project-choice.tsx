/** Above the list of projects: what is done with the chosen ones. */
import { Suspense, useState } from "react";
import type { ProjectEntity } from "../../../../contract/admin.ts";
import { lazyComponent } from "../../api/chunks.ts";
import { Button } from "../../ui/button.tsx";
import { useManyProjectsText } from "./many-projects-text.ts";

const ManyProjects = lazyComponent(async () => (await import("./many-projects.tsx")).ManyProjects);

/** The ids of the chosen projects. */
export type Choice = ReadonlySet<string>;

interface ProjectChoiceProps {
  readonly projects: readonly ProjectEntity[];
  readonly choice: Choice;
  readonly onChoose: (choice: Choice) => void;
  /** Called after projects were changed. */
  readonly onChanged: () => unknown;
}

export function ProjectChoice({ projects, choice, onChoose, onChanged }: ProjectChoiceProps) {
  const t = useManyProjectsText();
  // The projects as they were chosen: the list is loaded again meanwhile.
  const [changed, setChanged] = useState<readonly ProjectEntity[]>();
  const chosen = projects.filter(({ id }) => choice.has(id));
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <Button size="small" onClick={() => onChoose(new Set(projects.map(({ id }) => id)))}>
        {t("many.chooseAll", { count: projects.length })}
      </Button>
      {chosen.length > 0 && (
        <>
          <Button size="small" look="quiet" onClick={() => onChoose(new Set())}>
            {t("many.clear")}
          </Button>
          <Button size="small" look="primary" onClick={() => setChanged(chosen)}>
            {t("many.set", { count: chosen.length })}
          </Button>
        </>
      )}
      {changed && (
        <Suspense>
          <ManyProjects
            projects={changed}
            onClose={(refused) => {
              setChanged(undefined);
              if (!refused) return;
              // Those that were not changed stay chosen, to try again.
              onChoose(new Set(refused));
              onChanged();
            }}
          />
        </Suspense>
      )}
    </div>
  );
}

interface ChooseProjectProps {
  readonly id: string;
  readonly choice: Choice;
  readonly onChoose: (choice: Choice) => void;
}

export function ChooseProject({ id, choice, onChoose }: ChooseProjectProps) {
  const t = useManyProjectsText();
  return (
    <input
      type="checkbox"
      aria-label={t("many.choose", { name: id })}
      className="size-4"
      checked={choice.has(id)}
      onChange={({ target: { checked } }) =>
        onChoose(new Set(checked ? [...choice, id] : [...choice].filter((each) => each !== id)))
      }
    />
  );
}
