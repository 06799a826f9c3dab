/** The same request as code in several languages. */
import { codeSample, type SampleRequest, sampleLanguages } from "../lib/code-samples.ts";
import { CodeBlock } from "./copy.tsx";
import { Tabs } from "./tabs.tsx";

export const CodeSamples = ({ label, request }: { label: string; request: SampleRequest }) => (
  <Tabs
    label={label}
    tabs={sampleLanguages.flatMap((name) => {
      const code = codeSample(name, request);
      return code === undefined ? [] : [{ name, content: <CodeBlock code={code} label={name} /> }];
    })}
  />
);
