import { defineConfig } from "vite";

// One classic script and one style sheet with fixed names: they open from file:// and can stand inside a page.
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../built",
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: "src/main.tsx", formats: ["iife"], name: "carryoverViewer", fileName: () => "viewer.js", cssFileName: "viewer" },
  },
  define: { "process.env.NODE_ENV": '"production"' },
});
