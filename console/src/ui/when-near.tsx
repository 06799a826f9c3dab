/** Renders its children when the user scrolls near them: what is low on a page is not loaded with it. */
import { type ReactNode, useEffect, useRef, useState } from "react";

export function WhenNear({ children }: { children: ReactNode }) {
  const [isNear, setNear] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return isNear ? children : <div ref={place} className="h-px" />;
}
