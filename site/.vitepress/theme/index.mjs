// VitePress's theme with the fonts of the system, and diagrams.

import { useData, useRoute } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { onMounted, watch } from "vue";
import { drawDiagrams } from "./diagrams.mjs";
import "./style.css";

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute();
    const { isDark } = useData();
    onMounted(() => {
      watch([() => route.path, isDark], () => drawDiagrams(isDark.value), {
        immediate: true,
        flush: "post",
      });
    });
  },
};
