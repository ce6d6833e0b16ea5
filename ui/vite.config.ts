import solid from "vite-plugin-solid";
import { defineConfig } from "vitest/config";

// STEPSCOPE_URL names a running server during development.
const server = process.env.STEPSCOPE_URL ?? "http://127.0.0.1:7411";

export default defineConfig({
  base: "./",
  plugins: [solid()],
  server: { proxy: { "/api": { target: server, changeOrigin: true } } },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
