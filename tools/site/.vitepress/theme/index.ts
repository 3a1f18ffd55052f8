import type { Theme } from "vitepress";
import theme from "vitepress/theme";
import { defineAsyncComponent } from "vue";
import "./style.css";

export default {
  extends: theme,
  enhanceApp({ app }) {
    // Only the page that shows the calculator loads it.
    const load = () => import("../../calculator/BillCalculator.vue");
    app.component("BillCalculator", defineAsyncComponent(load));
  },
} satisfies Theme;
