import solid from "vite-plugin-solid";
import { defineConfig } from "vitest/config";

// During development, STEPSCOPE_URL is the address that `stepscope open --no-open` prints, with its token.
const printed = new URL(process.env.STEPSCOPE_URL ?? "http://127.0.0.1:8899/");
const headers = { authorization: `Bearer ${printed.searchParams.get("token") ?? ""}`, origin: printed.origin };

export default defineConfig({
  base: "./",
  plugins: [solid()],
  server: { proxy: { "/api": { target: printed.origin, changeOrigin: true, headers } } },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
