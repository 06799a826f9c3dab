/** The frame of the pages before the sign-in. */
import type { ReactNode } from "react";

export const SignInFrame = ({ title, children }: { title: string; children: ReactNode }) => (
  <main className="flex min-h-dvh items-center justify-center p-4">
    <div className="w-full max-w-sm rounded-lg border border-line bg-surface p-6">
      <img src="/console/icon.svg" alt="" className="mb-3 size-9" />
      <h1 className="mb-4 text-lg font-semibold">{title}</h1>
      {children}
    </div>
  </main>
);
